/**
 * Telling the other servers on a Postgres of what was committed here: after the commit, so that no writer waits for it,
 * and in one notice what was committed while the last one was on its way. A notice lost with this process costs the
 * others a moment: what they keep, they believe for less than a second.
 */
export interface PeerNotifier {
  readonly tell: (standingChanged: boolean) => void
  /** Resolves when all is told. */
  readonly told: () => Promise<void>
}

export const settings_changed = "standing"

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
    tell: (standingChanged) => {
      waiting = standingChanged || waiting === settings_changed ? settings_changed : ""
      sending ??= sendAll()
    },
    told: () => sending ?? Promise.resolve()
  }
}
