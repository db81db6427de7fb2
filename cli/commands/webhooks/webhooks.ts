/** `webhooks`: the verbs of the API's noun, and a receiver for whoever develops one. */
import type { Command } from "commander"
import { withAction } from "../../program.ts"
import { listen } from "./listen.ts"

export const declare = (program: Command): void => {
  const webhooks = program.command("webhooks").description("Addresses that are told what happens")
  withAction(
    webhooks
      .command("listen")
      .description("Receive deliveries on this machine and print them; subscribes itself at a server that may reach it")
      .option("--port <port>", "where to listen (default: 4490; 0 for any)")
      .option("--events <names>", "what to subscribe to, separated by commas (default: everything)")
      .option("--secret <secret>", "verify with the secret of a webhook there is, and subscribe to nothing")
      .option("--status <code>", "what to answer with (default: 204), to see what the server makes of it"),
    listen
  )
}
