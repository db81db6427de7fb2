/** `units`: labels, state and history of units; by barcode, asset number, serial number or id. */
import { type Command, Option } from "commander"
import { repeatable, withAction } from "../../../context/program.ts"

const code = ["<code...>", "barcode, asset number, serial number or id of the unit"] as const

export const declare = (program: Command): void => {
  const units = program
    .command("units")
    .description(
      "Units: labels, inspections, history; out of service: quarantine, repair, release, lost, sold, workshop"
    )
  const move = (name: string, description: string): Command =>
    units
      .command(name)
      .description(description)
      .argument(...code)
      .option("--quantity <n>", "quantity, for a bulk stock level given by id (default: 1)")
      .option("--record <id>", "for a bulk stock level: the open service record to take from")
      .option("--note <text>", "note, kept in the unit's history")
  const leaving = (name: string, description: string): Command =>
    move(name, description)
      .option("--reason <text>", "short reason")
      .option("--since <date>", "start: a day or a time, on the store's clock (default: now)")
      .option("--order <order>", "order it came back from, by id or number")
      .addOption(repeatable("--photo <file>", "photo to attach to the unit; repeatable"))
      .option("--charge <amount>", "amount to charge on --order, or the word replacement for the cost of a new one")
  const back = "expected return, a date or time; the unit counts as available after it"
  withAction(
    leaving("quarantine", "Take a unit out of use until it is inspected").option("--back <date>", back),
    async (...given) => (await import("./move.ts")).moveUnits("quarantine", ...given)
  )
  withAction(
    leaving("repair", "Send a unit for repair; repeat to change the expected day")
      .option("--back <date>", back)
      .option("--cost <amount>", "cost of the repair, in the base currency"),
    async (...given) => (await import("./move.ts")).moveUnits("repair", ...given)
  )
  withAction(
    move("release", "Return a unit to service").option("--cost <amount>", "cost of the repair, in the base currency"),
    async (...given) => (await import("./move.ts")).moveUnits("release", ...given)
  )
  withAction(
    leaving("lost", "Record a unit as lost; it stays on the books until written off").option(
      "--write-off",
      "also write it off in stock"
    ),
    async (...given) => (await import("./move.ts")).moveUnits("lost", ...given)
  )
  withAction(
    move("sold", "Record a unit as sold, and remove it from stock")
      .option("--reason <text>", "short reason")
      .option("--since <date>", "start: a day or a time, on the store's clock (default: now)"),
    async (...given) => (await import("./move.ts")).moveUnits("sold", ...given)
  )
  withAction(
    units
      .command("show")
      .description("Show a unit's state, the bookings that state affects, and its history")
      .argument("<code>", code[1]),
    async (context, [unit = ""]) => (await import("./show.ts")).showUnit(context, unit)
  )
  declareLabels(units)
  declareInspections(units)
  withAction(
    units
      .command("workshop")
      .description("List units out of service: overdue first, then by expected return")
      .option("--store <store>", "store, by id or name (default: every store)")
      .option("--state <state>", "quarantine, in_repair or lost (default: all of them)"),
    async (context, _args, flags) => (await import("./workshop.ts")).showWorkshop(context, flags)
  )
}

const declareLabels = (units: Command): Command =>
  withAction(
    units
      .command("label")
      .description("Print labels for units, cases and bulk products, on sheets or for label printers")
      .argument("[code...]", "codes of units and cases, or a bulk product's code")
      .option(
        "--product <product>",
        "label all units of this product, by id, SKU or name; for a bulk product, its own code"
      )
      .option("--store <store>", "label all units at this store, and its cases that are no unit")
      .option(
        "--sheet <sheet>",
        "on A4: 3x8, 3x7, 3x9, 2x7, 2x4, 5x13 or avery-NUMBER; zpl for label printers (default: 3x8)"
      )
      .option("--skip <number>", "labels already used on the first sheet")
      .addOption(new Option("--symbol <kind>", "kind of code (default: code128)").choices(["code128", "qr"]))
      .option("--size <mm>", "width and height of a label for --sheet zpl (default: 57x32)")
      .option("--dpi <number>", "resolution of the label printer: 203, 300 or 600 (default: 203)")
      .option("-o, --output <file>", "file to write; - for standard output (default: labels.html or labels.zpl)"),
    async (...given) => (await import("./label.ts")).labelUnits(...given)
  )

const declareInspections = (units: Command): void => {
  withAction(
    units
      .command("inspect")
      .description("Record an inspection of units, such as PAT, LOLER or calibration")
      .argument("[code...]", `${code[1]} (default: one a line from standard input)`)
      .option("--kind <kind>", "kind of inspection, by name or id")
      .option("--pass", "record that the units passed")
      .option("--fail", "record that the units failed")
      .option("--value <text>", "measured value")
      .option("--note <text>", "note on the inspection")
      .option("--inspector <name>", "person or firm that inspected, if not you")
      .option("--at <date>", "time of the inspection: a day or a time, on the store's clock (default: now)")
      .option("--due <date>", "next inspection (default: after the product's interval)")
      .addOption(repeatable("--photo <file>", "photo or certificate to attach to the unit; repeatable")),
    async (...given) => (await import("./inspect.ts")).inspectUnits(...given)
  )
  withAction(
    units
      .command("due")
      .description("List units whose inspection is due: failed and overdue first")
      .option("--store <store>", "store, by id or name (default: every store)")
      .option("--kind <kind>", "kind of inspection, by name or id")
      .option("--product <product>", "only units of this product, by id, SKU or name")
      .option("--within <days>", "due within this number of days (default: 30)"),
    async (context, _args, flags) => (await import("./inspect.ts")).showDue(context, flags)
  )
}
