/** An outbox whose writers are killed again and again at random moments. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { expect } from "vitest"
import { openOutboxAt } from "../../../../sync/device/outbox/outbox.ts"

/** Acknowledged commands survive, numbers have no gaps, and no id is used twice. */
export const survivesKills = async (lives: number): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-outbox-"))
  const path = join(folder, "outbox.sqlite")
  const outbox = openOutboxAt(path)
  try {
    outbox.addLease(1, [{ entity: "lamps", from: 1, to: 1_000_000 }])
    const acknowledged: Array<{ readonly n: number; readonly id: string; readonly ids: ReadonlyArray<number> }> = []
    for (let life = 0; life < lives; life++) {
      const child = spawn(process.execPath, [fileURLToPath(new URL("writer.ts", import.meta.url)), path], {
        stdio: ["ignore", "pipe", "inherit"]
      })
      const lines_max = 1 + Math.floor(Math.random() * 15)
      let lines = 0
      for await (const line of createInterface(child.stdout)) {
        acknowledged.push(JSON.parse(line))
        // It keeps writing until the signal arrives, so it is killed anywhere within a command.
        if (++lines === lines_max) child.kill("SIGKILL")
      }
      if (child.signalCode === null && child.exitCode === null) await once(child, "exit")
      expect(child.signalCode).toBe("SIGKILL")
    }
    const kept = outbox.pending()
    expect(acknowledged.length).toBeGreaterThanOrEqual(lives)
    expect(kept.map(({ n }) => n)).toEqual(kept.map((_, at) => at + 1))
    for (const { id, ids, n } of acknowledged) expect(kept[n - 1]).toMatchObject({ n, id, ids: { lamps: ids } })
    const used = kept.flatMap((one) => one.ids["lamps"]!)
    expect(new Set(used).size).toBe(used.length)
    expect(outbox.peekIds("lamps", 0, 1)[0]).toBeGreaterThan(Math.max(...used))
  } finally {
    outbox.close()
    rmSync(folder, { recursive: true })
  }
}
