/** `devices`: the machines that hold replicas, as the server knows them. */
import type { Command } from "commander"
import { withAction } from "../../program.ts"
import { listDevices } from "./list.ts"
import { renameDevice } from "./rename.ts"
import { revokeDevice } from "./revoke.ts"

export const declare = (program: Command): void => {
  const devices = program
    .command("devices")
    .description("The machines that hold replicas: yours, or everybody's if you manage users")
  withAction(
    devices.command("list", { isDefault: true }).description("Name, owner, when it was last seen, how far it has come"),
    listDevices
  )
  withAction(
    devices
      .command("rename")
      .description("Call a device otherwise")
      .argument("<device>", "its id or name")
      .argument("<name>", "the new name"),
    renameDevice
  )
  withAction(
    devices
      .command("revoke")
      .description(
        "Its token opens nothing from then on; it loses its data at its next call, but not what it has not sent"
      )
      .argument("<device>", "its id or name")
      .option("--yes", "do not ask"),
    revokeDevice
  )
}
