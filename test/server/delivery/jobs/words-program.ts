/** A server process whose jobs write lines to a file. Arguments: database, file, number of jobs to queue. */
import { appendFileSync } from "node:fs"
import { Effect } from "effect"
import { openServerApp } from "../../../../server/host/app.ts"
import { queueWord, wordKind } from "./words.ts"

const [database = "", file = "", words = "0"] = process.argv.slice(2)
const note = (line: string): Effect.Effect<void> => Effect.sync(() => appendFileSync(file, `${line}\n`))
const kind = wordKind(
  (word, { number }) =>
    Effect.andThen(note(`began ${word} ${number}`), Effect.andThen(Effect.sleep(500), note(`ended ${word} ${number}`))),
  { attempts_max: 20 }
)
const app = await openServerApp({
  database: database.startsWith("postgres")
    ? { kind: "pg", url: database, connections_max: 4 }
    : { kind: "sqlite", path: database },
  key: "a key of more than twenty characters",
  slices: [{ name: "words", jobs: [kind] }]
})
for (let at = 0; at < Number(words); at++) {
  await queueWord(app, kind, `w${at}`)
  appendFileSync(file, `queued w${at}\n`)
}
console.log("queued")
