/** Configuration of a server's access to other services, from its environment. */
export interface Credentials {
  readonly access_key_id: string
  readonly secret_access_key: string
  readonly session_token: string | undefined
  readonly region: string | undefined
}
export interface Outside {
  /** `smtp://user:password@host:587`; without it and the setting, mail is written to the outbox folder. */
  readonly smtp_url: string | undefined
  /** `s3://bucket?endpoint=…`; without it files are in the data folder. */
  readonly blobs: string | undefined
  /** Credentials for the buckets of files and backups. */
  readonly aws?: Credentials | undefined
  /** Allows webhooks to private and loopback addresses, for trials. */
  readonly webhooks_private: boolean
  /** Seconds between attempts at a webhook, instead of the defaults; for trials. */
  readonly webhooks_waits_seconds: ReadonlyArray<number> | undefined
  /** Folder or bucket of the backups; it overrides the setting `backups.folder`. */
  readonly backups?: string | undefined
  /** Passphrase for scheduled backups. */
  readonly backup_passphrase?: string | undefined
}
export const nothing_outside: Outside = {
  smtp_url: undefined,
  blobs: undefined,
  webhooks_private: false,
  webhooks_waits_seconds: undefined
}
