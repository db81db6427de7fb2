/** Handwritten commands by first word; each module is loaded when its word is typed. */
import type { Command } from "commander"

export interface CommandEntry {
  /** Usage and description in the overview. */
  readonly usage_line: readonly [usage: string, text: string]
  readonly load: () => Promise<{ readonly declare: (program: Command) => void }>
  /** Noun of the API whose verbs are added to the handwritten ones. */
  readonly noun?: string
}

export const commands: { readonly [word: string]: CommandEntry } = {
  login: {
    usage_line: ["login URL [--code C | --token T]", "log in and fill this machine's replica"],
    load: () => import("../commands/people/login.ts")
  },
  setup: {
    usage_line: ["setup [--file house.json]", "set up a new server: company, taxes, stores, people, logo, mail"],
    load: () => import("../commands/setup/setup/setup.ts")
  },
  sync: {
    usage_line: [
      "sync [status|conflicts|report|resolve|bundle]",
      "send this machine's changes, fetch all others; --watch continues"
    ],
    load: () => import("../commands/offline/sync/sync.ts")
  },
  undo: {
    usage_line: ["undo [COMMAND] [--list] [--redo]", "undo this machine's last run, or one of its commands"],
    load: () => import("../commands/offline/undo.ts")
  },
  devices: {
    usage_line: ["devices list|rename|revoke", "devices with replicas"],
    load: () => import("../commands/people/devices.ts")
  },
  today: {
    usage_line: ["today [--store S] [--date DAY] [--watch]", "the day: out, back, late, short, unpaid; offline too"],
    load: () => import("../commands/overview/today.ts")
  },
  find: {
    usage_line: ["find WORDS|CODE", "find members, orders, products and units by name or code; offline too"],
    load: () => import("../commands/overview/find.ts")
  },
  board: {
    usage_line: [
      "board [--store S] [--name N] [--money]",
      "link for a wall screen that shows the day live; boards list|delete"
    ],
    load: () => import("../commands/overview/board.ts")
  },
  price: {
    usage_line: ["price PRODUCT --from --to [--quantity N]", "price of a product, with the rate breakdown"],
    load: () => import("../commands/orders/price.ts")
  },
  availability: {
    usage_line: ["availability PRODUCT --from --to", "availability; also calendar, gantt, why, what-if, fit PRODUCT"],
    load: () => import("../commands/orders/availability/availability.ts"),
    noun: "availability"
  },
  shortages: {
    usage_line: ["shortages [--days|wait|leave|waiting]", "shortages by line or day; the waiting list"],
    load: () => import("../commands/orders/shortages.ts"),
    noun: "shortages"
  },
  quote: {
    usage_line: ["quote new|add|show|convert|list", "create and change quotes"],
    load: () => import("../commands/orders/quote/quote.ts")
  },
  orders: {
    usage_line: ["orders list|show|history|print|…", "orders by id or number; print: their documents, offline too"],
    load: () => import("../commands/orders/orders/orders.ts"),
    noun: "opportunities"
  },
  invoices: {
    usage_line: ["invoices show|pay|refund|credit|…", "invoices and payments by id or number"],
    load: () => import("../commands/billing/invoices.ts"),
    noun: "invoices"
  },
  documents: {
    usage_line: ["documents generate|get|share|verify|…", "documents as PDF; verify: which document a file is"],
    load: () => import("../commands/documents/documents.ts"),
    noun: "documents"
  },
  "purchase-orders": {
    usage_line: ["purchase-orders list|show|create|send|…", "purchase orders by id or number"],
    load: () => import("../commands/purchasing/purchase-orders.ts"),
    noun: "purchase-orders"
  },
  containers: {
    usage_line: [
      "containers manifest CONTAINER [--labels qr]",
      "contents of a case as a list, page or labels; also list, show, seal, …"
    ],
    load: () => import("../commands/warehouse/containers/containers.ts"),
    noun: "containers"
  },
  pack: {
    usage_line: ["pack CONTAINER [CODE…] [--file F] [--plan]", "pack units by code, from arguments or standard input"],
    load: () => import("../commands/warehouse/pack.ts")
  },
  scan: {
    usage_line: ["scan out ORDER · scan in [ORDER]", "book units out and check them in by code"],
    load: () => import("../commands/warehouse/scan.ts")
  },
  count: {
    usage_line: ["count start|scan|show|close|cancel", "count a store's stock by scanner; offline too"],
    load: () => import("../commands/warehouse/count.ts")
  },
  transfers: {
    usage_line: ["transfers create|send|receive|cancel|show", "move goods to another store by scanner; offline too"],
    load: () => import("../commands/warehouse/transfers.ts"),
    noun: "transfers"
  },
  units: {
    usage_line: [
      "units quarantine|repair|release|lost|workshop",
      "units out of service, with reason, photos and history; offline too"
    ],
    load: () => import("../commands/warehouse/units/units.ts")
  },
  receive: {
    usage_line: ["receive PO [--file F]", "receive goods of a purchase order by code; offline too"],
    load: () => import("../commands/purchasing/receive.ts")
  },
  attach: {
    usage_line: [
      "attach TARGET FILE… [--category C]",
      "attach files to member:12, order:9, unit:BARCODE …; offline too"
    ],
    load: () => import("../commands/documents/attach.ts")
  },
  attachments: {
    usage_line: ["attachments list|show|get|delete", "attached files"],
    load: () => import("../commands/documents/attachments.ts"),
    noun: "attachments"
  },
  calendar: {
    usage_line: ["calendar export [--user ID] [-o FILE]", "the calendar as iCalendar; links: feeds to subscribe to"],
    load: () => import("../commands/overview/calendar.ts")
  },
  import: {
    usage_line: [
      "import products|rates|members|all FILE [--dry-run]",
      "import CSV or JSON; all: an export, into an empty server"
    ],
    load: () => import("../commands/imports/import/import.ts")
  },
  export: {
    usage_line: [
      "export DIR | accounting --since DAY [--format xero]",
      "export all data for import all, or billing for accounting"
    ],
    load: () => import("../commands/imports/export/export.ts")
  },
  api: {
    usage_line: ["api METHOD PATH [-q k=v] [-d JSON|@FILE]", "call any API operation"],
    load: () => import("../commands/operations/api.ts")
  },
  smoke: {
    usage_line: ["smoke URL --token T", "test a server's main functions, and clean up"],
    load: () => import("../commands/operations/smoke/smoke.ts")
  },
  mail: {
    usage_line: ["mail test [ADDRESS] [--store S] [--wait]", "send a message to test the mail settings"],
    load: () => import("../commands/delivery/mail.ts")
  },
  doctor: {
    usage_line: ["doctor [--repair]", "check the replica, the outbox and the server"],
    load: () => import("../commands/operations/doctor/doctor.ts")
  },
  members: {
    usage_line: ["members new NAME [--email E] [--street S …]", "customers and other members, with contact details"],
    load: () => import("../commands/people/members.ts"),
    noun: "members"
  },
  users: {
    usage_line: ["users invite|reset-password|list|…", "staff accounts; invite mails a login code"],
    load: () => import("../commands/people/users.ts"),
    noun: "users"
  },
  webhooks: {
    usage_line: [
      "webhooks listen [--port P] [--secret S]",
      "receive and print deliveries; also list, create, logs, test, replay, …"
    ],
    load: () => import("../commands/delivery/webhooks.ts"),
    noun: "webhooks"
  },
  inbox: {
    usage_line: [
      "inbox [read|unread|show] [--all] [--watch]",
      "your notifications; --watch: as they arrive; offline as last listed"
    ],
    load: () => import("../commands/delivery/inbox.ts")
  },
  notifications: {
    usage_line: [
      "notifications preferences|settings|set TYPE…",
      "notification types and channels: --email, --no-broadcast, --muted …"
    ],
    load: () => import("../commands/delivery/notifications.ts"),
    noun: "notifications"
  },
  usage: {
    usage_line: ["usage [export|logs] [--by token|day|…]", "API usage as a table or file; logs: single calls"],
    load: () => import("../commands/operations/usage.ts")
  },
  serve: {
    usage_line: ["serve", "run the server; --help lists its settings"],
    load: () => import("../commands/operations/serve.ts")
  },
  upgrade: {
    usage_line: ["upgrade --check", "the effect of this release's first start on the server's database"],
    load: async () => ({ declare: (await import("../commands/operations/serve.ts")).declareUpgrade })
  },
  backup: {
    usage_line: [
      "backup create FOLDER | list|verify|restore|move|prune",
      "the server's data in one file, while it runs; verify --restore tries it"
    ],
    load: () => import("../commands/operations/backup.ts")
  },
  mcp: {
    usage_line: [
      "mcp [--allow-writes]",
      "Model Context Protocol for assistants: reads and planned writes; offline too"
    ],
    load: () => import("../commands/operations/mcp/mcp.ts")
  },
  completion: {
    usage_line: ["completion bash|zsh|fish", "print a shell's completion script"],
    load: () => import("../commands/operations/completion/completion.ts")
  }
}
