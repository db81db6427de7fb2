/** The server as a program of its own. */
import { serve } from "./serve.ts"

await serve(process.env)
