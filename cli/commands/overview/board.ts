/**
 * `board`: creates a link that shows the day on a screen without a login; `boards` lists, rotates and removes links.
 */
import type { Command } from "commander"
import { rowIn } from "../../base/answers.ts"
import { textFlag, verb } from "../../context/program.ts"
import { momentFlag, present } from "../../context/pages.ts"
import { companyZone, resolveStore } from "../../context/resolve-id.ts"

export const declare = (program: Command): void => {
  verb(program, "board", {
    about: "Create a link for a wall screen that shows the day live; see also boards list",
    "--store <store>": "store, by id or name (default: every store)",
    "--name <name>": "name of the board (default: the store's name, or Board)",
    "--money": "include unpaid invoices",
    "--until <when>": "expiry of the link: fri 18:00, +30d (default: never)",
    run: async (context, _args, flags) => {
      const named = textFlag(flags, "store")
      const store = named === undefined ? undefined : await resolveStore(context, named)
      const zone = flags.until === undefined ? "" : (store?.zone ?? (await companyZone(context)))
      const body = present({
        name: textFlag(flags, "name") ?? store?.name ?? "Board",
        store_id: store?.id,
        shows_money: flags.money === true,
        expires_at: momentFlag(context, flags, "until", zone)
      })
      const answer = await context.post("/api/v1/boards", body)
      if (context.options.json === true) return context.printJson(answer.body ?? null)
      const made = rowIn(answer.body, "board")
      context.print(`${made.url}\n`)
      context.note(
        `Whoever has this address sees the day: open it on the screen (?theme=light or dark). ` +
          `flightcase boards delete ${made.id} ends it, boards rotate ${made.id} gives it another.`
      )
    }
  })
}
