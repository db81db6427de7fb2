/** `units`: units out of service with reasons, and their release; by barcode, asset number, serial number or id. */
import type { Command } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"

const code = ["<code...>", "barcode, asset number, serial number or id of the unit"] as const

export const declare = (program: Command): void => {
  const units = program
    .command("units")
    .description("Units out of service: quarantine, repair, release, lost, sold; one with its history, the workshop")
  const move = (name: string, description: string): Command =>
    units
      .command(name)
      .description(description)
      .argument(...code)
      .option("--quantity <n>", "of a bulk stock level, named by its id (default: 1)")
      .option("--record <id>", "of a bulk stock level: the open service record it is taken from")
      .option("--note <text>")
  const leaving = (name: string, description: string): Command =>
    move(name, description)
      .option("--reason <text>", "in a few words")
      .option("--since <date>", "a day or a time, on the store's clock (default: now)")
      .option("--order <order>", "the hire it came from: id or number")
      .addOption(repeatable("--photo <file>", "attached to the unit; may be given again"))
      .option("--charge <amount>", "what the customer pays for it on that order; replacement: what a new one costs")
  const back = "the day it is expected back, or a time; it counts as available after that"
  withAction(
    leaving("quarantine", "Out of use until somebody looks at it").option("--back <date>", back),
    async (...given) => (await import("./move.ts")).moveUnits("quarantine", ...given)
  )
  withAction(
    leaving("repair", "Being repaired; said again it changes the day it is expected back")
      .option("--back <date>", back)
      .option("--cost <amount>", "what the repair costs the house"),
    async (...given) => (await import("./move.ts")).moveUnits("repair", ...given)
  )
  withAction(
    move("release", "Back in service").option("--cost <amount>", "what the repair cost the house"),
    async (...given) => (await import("./move.ts")).moveUnits("release", ...given)
  )
  withAction(
    leaving("lost", "Lost; it stays on the books until it is written off").option(
      "--write-off",
      "take it out of stock for good"
    ),
    async (...given) => (await import("./move.ts")).moveUnits("lost", ...given)
  )
  withAction(
    move("sold", "Sold: out of stock for good")
      .option("--reason <text>", "in a few words")
      .option("--since <date>", "a day or a time, on the store's clock (default: now)"),
    async (...given) => (await import("./move.ts")).moveUnits("sold", ...given)
  )
  withAction(
    units
      .command("show")
      .description("A unit: its state, what it is promised to meanwhile, and its history")
      .argument("<code>", code[1]),
    async (context, [unit = ""]) => (await import("./show.ts")).showUnit(context, unit)
  )
  withAction(
    units
      .command("workshop")
      .description("What is out of service: what is overdue first, then by the day it is expected back")
      .option("--store <store>", "id or name (default: every store)")
      .option("--state <state>", "quarantine, in_repair or lost (default: all of them)"),
    async (context, _args, flags) => (await import("./workshop.ts")).showWorkshop(context, flags)
  )
}
