/** The server as a program of its own. */
import { serve } from "./serve.ts"

serve(process.env)
