import { expect, it } from "vitest"
import { makePeerNotifier, mayChangeSettings } from "../../server/host/caches.ts"

it("sends one notice for all commits made while the last one was being sent, naming settings if any changed them", async () => {
  const sent: Array<string> = []
  const peers = makePeerNotifier(async (payload) => {
    sent.push(payload)
    await Promise.resolve()
  })
  peers.notify(false)
  peers.notify(false)
  peers.notify(true)
  peers.notify(false)
  await peers.sent()
  expect(sent).toEqual(["", "standing"])
})

it("takes a payload that it does not know for a change of settings", () => {
  expect([mayChangeSettings(""), mayChangeSettings("standing"), mayChangeSettings("of a later release")]).toEqual([
    false,
    true,
    true
  ])
})
