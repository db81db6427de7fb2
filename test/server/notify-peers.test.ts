import { expect, it } from "vitest"
import { makePeerNotifier, mayChangeSettings } from "../../server/host/caches.ts"

it("a server sends other servers one notice for all commits made during the previous notice, and marks changed settings", async () => {
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

it("a server treats an unknown notice from another server as a change of settings", () => {
  expect([mayChangeSettings(""), mayChangeSettings("standing"), mayChangeSettings("of a later release")]).toEqual([
    false,
    true,
    true
  ])
})
