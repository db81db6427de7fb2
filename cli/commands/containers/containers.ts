/** `containers`: verbs written by hand; those of the API's noun are added to them. */
import { type Command, Option } from "commander"
import { withAction } from "../../program.ts"
import { showManifest } from "./manifest.ts"

export const declare = (program: Command): void => {
  const containers = program
    .command("containers")
    .description("Flight cases and boxes: what is in them, where they are")
  withAction(
    containers
      .command("manifest")
      .description("What is in a container, cases inside it included; as a page, or as labels for it and its contents")
      .argument("<container>", "id, barcode, or its housing's asset or serial number")
      .option("--html <file>", "a page to print and put into the case; - for standard output")
      .addOption(new Option("--labels <kind>", "the page holds labels instead of the list").choices(["code128", "qr"]))
      .option("--sheet <grid>", "labels across and down on A4: 3x8, 3x7, 2x7, 2x4 or 5x13 (default: 3x8)")
      .option("--skip <number>", "labels already used up on the first sheet"),
    showManifest
  )
}
