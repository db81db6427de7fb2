import { expect, it } from "vitest"
import { makePeerNotifier, mayChangeSettings } from "../../server/host/caches.ts"

it("sends one notice for all commits made while the last one was sent, and says if settings changed", async () => {
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

it("treats an unknown notice as a change of settings", () => {
  expect([mayChangeSettings(""), mayChangeSettings("standing"), mayChangeSettings("of a later release")]).toEqual([
    false,
    true,
    true
  ])
})
