/** `scan`: books units out and checks them in by their codes, each committed on its own. */
import type { Command } from "commander"
import { scanAll } from "../../codes.ts"
import { listFlag, repeatable, textFlag, withAction } from "../../program.ts"
import { opportunityPath } from "../orders/show.ts"
import { checkIn } from "./in.ts"
import { bookOut } from "./out.ts"

export const declare = (program: Command): void => {
  const scan = program.command("scan").description("Book out and check in by code")
  withAction(
    scan
      .command("out")
      .description("Book units out to an order; a bulk product by sku or barcode, several as CODE*5")
      .argument("<order>", "id or number")
      .option("--file <file>", "read the codes from there"),
    async (context, [order = ""], flags) => {
      const path = await opportunityPath(context, order)
      return scanAll(context, textFlag(flags, "file"), "booked_out", (code) => bookOut(context, path, code))
    }
  )
  withAction(
    scan
      .command("in")
      .description("Check units in; of a bulk product name the order")
      .argument("[order]", "id or number (default: whichever has the unit)")
      .option("--file <file>", "read the codes from there")
      .option("--finalise", "checked and good at once")
      .addOption(
        repeatable("--photo <file>", "a photo of damage, attached to each unit checked in here; may be given again")
      ),
    async (context, [order], flags) => {
      const path = order === undefined ? undefined : await opportunityPath(context, order)
      const photos = listFlag(flags, "photo")
      const { localFile } = await import("../../input.ts")
      // One that cannot be read is told before anything is checked in.
      for (const photo of photos) await localFile(photo)
      return scanAll(context, textFlag(flags, "file"), "checked_in", (code) =>
        checkIn(context, path, code, { finalise: flags["finalise"] === true, photos })
      )
    }
  )
}
