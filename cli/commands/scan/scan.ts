/** `scan`: books out and checks in by code, each committed on its own, all of it or nothing. */
import { type Command, Option } from "commander"
import { objectBody } from "../../answers.ts"
import { scanCodes } from "../../codes.ts"
import { linesOf } from "../../input.ts"
import { listFlag, repeatable, textFlag, withAction } from "../../program.ts"
import { opportunityPath } from "../orders/show.ts"
import { scanned, scanOne, scanRequest } from "./ask.ts"
import { requirePhotographed, unfitOf, withPhotos, withState } from "./in.ts"

export const declare = (program: Command): void => {
  const scan = program.command("scan").description("Book out and check in by code")
  withAction(
    scan
      .command("out")
      .description("Book out to an order: units, sealed cases, parts of kits; of a bulk product several as CODE*5")
      .argument("<order>", "id or number")
      .option("--file <file>", "read the codes from there")
      .option("--break-seal", "take units out of sealed cases without asking")
      .option("--yes", "the same"),
    async (context, [order = ""], flags) => {
      const path = await opportunityPath(context, order)
      const more = flags["breakSeal"] === true || flags["yes"] === true ? { break_seal: true } : {}
      return scanCodes(context, linesOf(textFlag(flags, "file")), "booked_out", {
        asking: (code) => scanRequest(path, "out", code, more),
        scan: (asked) => scanOne(context, asked),
        planned: (asked, answer) => scanned(context, asked, answer)
      })
    }
  )
  withAction(
    scan
      .command("in")
      .description("Check in units and cases; of a bulk product name the order")
      .argument("[order]", "id or number (default: whichever has it)")
      .option("--file <file>", "read the codes from there")
      .option("--finalise", "checked and good at once")
      .addOption(new Option("--damaged", "came back damaged: each unit goes to quarantine").conflicts("finalise"))
      .addOption(
        new Option("--missing", "did not come back: each unit is recorded as lost").conflicts(["finalise", "damaged"])
      )
      .option("--note <text>", "what is damaged, with --damaged or --missing")
      .addOption(
        repeatable("--photo <file>", "a photo of damage, attached to each unit checked in here; may be given again")
      ),
    async (context, [order], flags) => {
      const unfit = unfitOf(flags)
      const path = order === undefined ? undefined : await opportunityPath(context, order)
      const photos = listFlag(flags, "photo")
      const { localFile } = await import("../../input.ts")
      // One that cannot be read is told before anything is checked in.
      for (const photo of photos) await localFile(photo)
      const more = { finalise: flags["finalise"] === true, ...unfit }
      return scanCodes(context, linesOf(textFlag(flags, "file")), "checked_in", {
        asking: (code) => scanRequest(path, "in", code, more),
        scan: async (asked, code) => {
          await requirePhotographed(context, code, photos)
          return withPhotos(context, withState(await scanOne(context, asked), unfit), photos)
        },
        planned: async (asked, answer) => {
          await requirePhotographed(context, String(objectBody(asked.body)["code"]), photos)
          return withPhotos(context, withState(await scanned(context, asked, answer), unfit), photos)
        }
      })
    }
  )
}
