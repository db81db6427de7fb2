/** A server's access to the outside world: from its environment. */
export interface Credentials {
  readonly access_key_id: string
  readonly secret_access_key: string
  readonly session_token: string | undefined
  readonly region: string | undefined
}
export interface Outside {
  /** `smtp://user:password@host:587`; without one, and without the setting, mail is written to the outbox folder. */
  readonly smtp_url: string | undefined
  /** `s3://bucket?endpoint=…`; without it files are kept in the data folder. */
  readonly blobs: string | undefined
  /** The keys to that bucket. */
  readonly aws?: Credentials | undefined
  /** Webhooks may reach private and loopback addresses: for trials. */
  readonly webhooks_private: boolean
  /** Replaces the waits between attempts at a webhook: for trials. */
  readonly webhooks_waits_seconds: ReadonlyArray<number> | undefined
}
export const nothing_outside: Outside = {
  smtp_url: undefined,
  blobs: undefined,
  webhooks_private: false,
  webhooks_waits_seconds: undefined
}
