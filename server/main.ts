/** The server as a program of its own. */
import { serve } from "./host/serve.ts"

void serve(process.env)
