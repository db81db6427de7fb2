/**
 * Notices to the other servers on a Postgres about commits of this one. They are sent after the commit, so that no
 * writer waits for them, and one notice covers all commits made while the last one was being sent. A notice that is
 * lost with this process costs the others a moment: what they cache, they use for less than a second.
 */
import { Option, Schema } from "effect"

export interface PeerNotifier {
  readonly notify: (settingsChanged: boolean) => void
  /** Resolves when every notice is sent. */
  readonly sent: () => Promise<void>
}

/** Payloads on the wire, which servers of other releases on the same database send and read too. */
const wire = { journal: "", settings: "standing" } as const
const decodePayload = Schema.decodeUnknownOption(Schema.Literals([wire.journal, wire.settings]))

/**
 * Whether users, roles, tokens or settings changed, by a notice's payload; one of another release may mean that, too.
 */
export const mayChangeSettings = (payload: string): boolean =>
  Option.getOrElse(decodePayload(payload), () => wire.settings) === wire.settings

/** `send` must not reject. */
export const makePeerNotifier = (send: (payload: string) => Promise<void>): PeerNotifier => {
  let waiting: string | undefined
  let sending: Promise<void> | undefined
  const sendAll = async (): Promise<void> => {
    while (waiting !== undefined) {
      const payload = waiting
      waiting = undefined
      await send(payload)
    }
    sending = undefined
  }
  return {
    notify: (settingsChanged) => {
      waiting = settingsChanged || waiting === wire.settings ? wire.settings : wire.journal
      sending ??= sendAll()
    },
    sent: () => sending ?? Promise.resolve()
  }
}
