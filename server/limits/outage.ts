/** The time in which a process goes by what it knows itself, since the database does not answer. */
export interface OutageOptions {
  /** Told of the first failure after a success. */
  readonly failed: (error: unknown) => void
  /** Milliseconds that only grow. */
  readonly elapsed?: () => number
}
export interface Outage {
  /** The database failed a moment ago, and is not asked again yet. */
  readonly lasts: () => boolean
  readonly failed: (error: unknown) => void
  readonly answered: () => void
}

const asked_again_after_millis = 1_000

export const makeOutage = ({ failed, elapsed = () => performance.now() }: OutageOptions): Outage => {
  let until = -Infinity
  let told = false
  return {
    lasts: () => elapsed() < until,
    failed: (error) => {
      if (!told) failed(error)
      told = true
      until = elapsed() + asked_again_after_millis
    },
    answered: () => {
      told = false
    }
  }
}
