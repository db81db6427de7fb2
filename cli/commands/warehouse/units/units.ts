/** `units`: labels, state and history of units; by barcode, asset number, serial number or id. */
import type { Command } from "commander"
import { oneOf, repeatable, verb } from "../../../context/program.ts"

const code = "barcode, asset number, serial number or id of the unit"
const moved = {
  "<code...>": code,
  "--quantity <n>": "quantity, for a bulk stock level given by id (default: 1)",
  "--record <id>": "for a bulk stock level: the open service record to take from",
  "--note <text>": "note, kept in the unit's history"
}
const dated = {
  "--reason <text>": "short reason",
  "--since <date>": "start: a day or a time, on the store's clock (default: now)"
}
const leaving = {
  ...moved,
  ...dated,
  "--order <order>": "order it came back from, by id or number",
  "--photo <file>": repeatable("photo to attach to the unit; repeatable"),
  "--charge <amount>": "amount to charge on --order, or the word replacement for the cost of a new one"
}
const back = { "--back <date>": "expected return, a date or time; the unit counts as available after it" }
const cost = { "--cost <amount>": "cost of the repair, in the base currency" }

export const declare = (program: Command): void => {
  const units = program
    .command("units")
    .description(
      "Units: labels, inspections, history; out of service: quarantine, repair, release, lost, sold, workshop"
    )
  verb(units, "quarantine", {
    about: "Take a unit out of use until it is inspected",
    ...leaving,
    ...back,
    run: async (...given) => (await import("./move.ts")).moveUnits("quarantine", ...given)
  })
  verb(units, "repair", {
    about: "Send a unit for repair; repeat to change the expected day",
    ...leaving,
    ...back,
    ...cost,
    run: async (...given) => (await import("./move.ts")).moveUnits("repair", ...given)
  })
  verb(units, "release", {
    about: "Return a unit to service",
    ...moved,
    ...cost,
    run: async (...given) => (await import("./move.ts")).moveUnits("release", ...given)
  })
  verb(units, "lost", {
    about: "Record a unit as lost; it stays on the books until written off",
    ...leaving,
    "--write-off": "also write it off in stock",
    run: async (...given) => (await import("./move.ts")).moveUnits("lost", ...given)
  })
  verb(units, "sold", {
    about: "Record a unit as sold, and remove it from stock",
    ...moved,
    ...dated,
    run: async (...given) => (await import("./move.ts")).moveUnits("sold", ...given)
  })
  verb(units, "show", {
    about: "Show a unit's state, the bookings that state affects, and its history",
    "<code>": code,
    run: async (context, [unit = ""]) => (await import("./show.ts")).showUnit(context, unit)
  })
  declareLabels(units)
  declareInspections(units)
  verb(units, "workshop", {
    about: "List units out of service: overdue first, then by expected return",
    "--store <store>": "store, by id or name (default: every store)",
    "--state <state>": "quarantine, in_repair or lost (default: all of them)",
    run: async (context, _args, flags) => (await import("./workshop.ts")).showWorkshop(context, flags)
  })
}

const declareLabels = (units: Command): Command =>
  verb(units, "label", {
    about: "Print labels for units, cases and bulk products, on sheets or for label printers",
    "[code...]": "codes of units and cases, or a bulk product's code",
    "--product <product>": "label all units of this product, by id, SKU or name; for a bulk product, its own code",
    "--store <store>": "label all units at this store, and its cases that are no unit",
    "--sheet <sheet>": "on A4: 3x8, 3x7, 3x9, 2x7, 2x4, 5x13 or avery-NUMBER; zpl for label printers (default: 3x8)",
    "--skip <number>": "labels already used on the first sheet",
    "--symbol <kind>": oneOf("kind of code (default: code128)", ["code128", "qr"]),
    "--size <mm>": "width and height of a label for --sheet zpl (default: 57x32)",
    "--dpi <number>": "resolution of the label printer: 203, 300 or 600 (default: 203)",
    "-o, --output <file>": "file to write; - for standard output (default: labels.html or labels.zpl)",
    run: async (...given) => (await import("./label.ts")).labelUnits(...given)
  })

const declareInspections = (units: Command): void => {
  verb(units, "inspect", {
    about: "Record an inspection of units, such as PAT, LOLER or calibration",
    "[code...]": `${code} (default: one a line from standard input)`,
    "--kind <kind>": "kind of inspection, by name or id",
    "--pass": "record that the units passed",
    "--fail": "record that the units failed",
    "--value <text>": "measured value",
    "--note <text>": "note on the inspection",
    "--inspector <name>": "person or firm that inspected, if not you",
    "--at <date>": "time of the inspection: a day or a time, on the store's clock (default: now)",
    "--due <date>": "next inspection (default: after the product's interval)",
    "--photo <file>": repeatable("photo or certificate to attach to the unit; repeatable"),
    run: async (...given) => (await import("./inspect.ts")).inspectUnits(...given)
  })
  verb(units, "due", {
    about: "List units whose inspection is due: failed and overdue first",
    "--store <store>": "store, by id or name (default: every store)",
    "--kind <kind>": "kind of inspection, by name or id",
    "--product <product>": "only units of this product, by id, SKU or name",
    "--within <days>": "due within this number of days (default: 30)",
    run: async (context, _args, flags) => (await import("./inspect.ts")).showDue(context, flags)
  })
}
