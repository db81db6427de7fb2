/** `doctor`: looks the replica over and, with --repair, puts right what it can. */
import type { Command } from "commander"
import { exits } from "../exits.ts"
import { inked } from "../output/terminal.ts"
import { acting } from "../program.ts"

export const declare = (program: Command): void => {
  const doctor = program.command("doctor").description("Check the replica, the outbox and the server").option("--repair", "put right what can be")
  acting(doctor, async (desk, _args, flags) => {
    const device = await desk.device()
    const findings = await device.doctor(flags["repair"] === true)
    if (desk.options.json === true) desk.printJson({ findings: findings.map((one) => ({ ...one })) })
    else {
      for (const { check, ok, detail } of findings) {
        desk.print(desk.terminal.seen ? `${ok ? inked(desk.terminal.colour, "green", "ok ") : inked(desk.terminal.colour, "red", "bad")} ${check}: ${detail}\n` : `${ok ? "ok" : "bad"}\t${check}\t${detail}\n`)
      }
    }
    return findings.every(({ ok }) => ok) ? exits.ok : exits.failed
  })
}
