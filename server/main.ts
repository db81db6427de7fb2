/** The server as a program of its own. */
import { serve } from "./serve.ts"

void serve(process.env)
