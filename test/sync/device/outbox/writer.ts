// A process that records commands until it is killed: node writer.ts <file>. Prints the number and id of each once it
// is on disk.
import { writeSync } from "node:fs"
import { openOutboxAt } from "../../../../sync/device/outbox/outbox.ts"

const outbox = openOutboxAt(process.argv[2]!)
for (;;) {
  const ids = outbox.peekIds("lamps", 0, 3)
  const { n, id } = outbox.append({
    id: `${process.pid}-${ids[0]}`,
    name: "lamps.create_many",
    payload: { params: {}, body: { count: ids.length } },
    ids: { lamps: ids },
    issued_at: "2026-06-18T12:00:00.000Z"
  })
  writeSync(1, `${JSON.stringify({ n, id, ids })}\n`)
}
