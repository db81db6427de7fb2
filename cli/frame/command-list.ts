/** The commands written by hand, by their first word. A module is loaded when its word is typed. */
import type { CommandModule } from "../base/answers.ts"

export interface CommandEntry {
  /** One line for the overview. */
  readonly usage_line: readonly [usage: string, text: string]
  readonly load: () => Promise<CommandModule>
  /** The noun of the API whose own verbs are added to those written by hand. */
  readonly noun?: string
}

export const commands: { readonly [word: string]: CommandEntry } = {
  login: {
    usage_line: ["login URL [--code C | --token T]", "make this machine's replica and fill it"],
    load: () => import("../commands/people/login.ts")
  },
  setup: {
    usage_line: ["setup [--file house.json]", "a new server's company, money, taxes, stores, people, logo and mail"],
    load: () => import("../commands/setup/setup/setup.ts")
  },
  sync: {
    usage_line: [
      "sync [status|conflicts|report|resolve|bundle]",
      "send what was done here, fetch what was done elsewhere; --watch goes on"
    ],
    load: () => import("../commands/offline/sync/sync.ts")
  },
  undo: {
    usage_line: ["undo [COMMAND] [--list] [--redo]", "take back what was done here last, or a command of this machine"],
    load: () => import("../commands/offline/undo.ts")
  },
  devices: {
    usage_line: ["devices list|rename|revoke", "the machines that hold replicas"],
    load: () => import("../commands/people/devices.ts")
  },
  today: {
    usage_line: [
      "today [--store S] [--date DAY] [--watch]",
      "what goes out, comes back, is late, short, unpaid; offline too"
    ],
    load: () => import("../commands/overview/today/today.ts")
  },
  find: {
    usage_line: ["find WORDS|CODE", "members, orders, products, units by name or code; where a unit is; offline too"],
    load: () => import("../commands/overview/find/find.ts")
  },
  board: {
    usage_line: [
      "board [--store S] [--name N] [--money]",
      "an address for the screen on the wall: the day, live; boards list|delete"
    ],
    load: () => import("../commands/overview/board.ts")
  },
  price: {
    usage_line: ["price PRODUCT --from --to [--quantity N]", "the rate breakdown"],
    load: () => import("../commands/orders/price.ts")
  },
  availability: {
    usage_line: ["availability PRODUCT --from --to", "what is free; also calendar, gantt, why, what-if, fit PRODUCT"],
    load: () => import("../commands/orders/availability/availability.ts"),
    noun: "availability"
  },
  shortages: {
    usage_line: ["shortages [--days|wait|leave|waiting]", "what is short, line by line or day by day; who waits"],
    load: () => import("../commands/orders/shortages/shortages.ts"),
    noun: "shortages"
  },
  quote: {
    usage_line: ["quote new|add|show|convert|list", "the counter's daily work"],
    load: () => import("../commands/orders/quote/quote.ts")
  },
  orders: {
    usage_line: ["orders list|show|history|print|…", "orders by id or number; print: their papers, offline too"],
    load: () => import("../commands/orders/orders/orders.ts"),
    noun: "opportunities"
  },
  invoices: {
    usage_line: ["invoices show|pay|refund|credit|…", "invoices by id or number, and what is paid of them"],
    load: () => import("../commands/billing/invoices/invoices.ts"),
    noun: "invoices"
  },
  documents: {
    usage_line: ["documents generate|get|share|verify|…", "quotations, papers, bills as PDF; verify proves files"],
    load: () => import("../commands/documents/documents/documents.ts"),
    noun: "documents"
  },
  "purchase-orders": {
    usage_line: [
      "purchase-orders list|show|create|send|…",
      "orders to suppliers by id or number, and what is still to come"
    ],
    load: () => import("../commands/purchasing/purchase-orders/purchase-orders.ts"),
    noun: "purchase-orders"
  },
  containers: {
    usage_line: [
      "containers manifest CONTAINER [--labels qr]",
      "what is in a case, as list, page or labels; also list, show, seal, …"
    ],
    load: () => import("../commands/warehouse/containers/containers.ts"),
    noun: "containers"
  },
  pack: {
    usage_line: [
      "pack CONTAINER [CODE…] [--file F] [--plan]",
      "pack the units with these codes, or those that come line by line"
    ],
    load: () => import("../commands/warehouse/pack.ts")
  },
  scan: {
    usage_line: ["scan out ORDER · scan in [ORDER]", "book out and check in by code"],
    load: () => import("../commands/warehouse/scan.ts")
  },
  units: {
    usage_line: [
      "units quarantine|repair|release|lost|workshop",
      "units out of service by code, with reason, photos and history; offline too"
    ],
    load: () => import("../commands/warehouse/units/units.ts")
  },
  receive: {
    usage_line: ["receive PO [--file F]", "receive goods from a supplier by code, at the dock and offline"],
    load: () => import("../commands/purchasing/receive.ts")
  },
  attach: {
    usage_line: ["attach TARGET FILE… [--category C]", "files to member:12, order:9, unit:BARCODE …; offline too"],
    load: () => import("../commands/documents/attach/attach.ts")
  },
  attachments: {
    usage_line: ["attachments list|show|get|delete", "files that were attached"],
    load: () => import("../commands/documents/attachments/attachments.ts"),
    noun: "attachments"
  },
  calendar: {
    usage_line: ["calendar export [--user ID] [-o FILE]", "the calendar feed; links: addresses to subscribe to"],
    load: () => import("../commands/overview/calendar.ts")
  },
  import: {
    usage_line: [
      "import products|rates|members|all FILE [--dry-run]",
      "price lists from CSV or JSON; all: an export, into an empty server"
    ],
    load: () => import("../commands/imports/import/import.ts")
  },
  export: {
    usage_line: [
      "export DIR | accounting --since DAY [--format xero]",
      "all data as files, and the journal for import all; or billing for an accounting program"
    ],
    load: () => import("../commands/imports/export/export.ts")
  },
  api: {
    usage_line: ["api METHOD PATH [-q k=v] [-d JSON|@FILE]", "any operation of the API"],
    load: () => import("../commands/operations/api.ts")
  },
  smoke: {
    usage_line: ["smoke URL --token T", "try a server's main job, and clean up"],
    load: () => import("../commands/operations/smoke/smoke.ts")
  },
  mail: {
    usage_line: ["mail test [ADDRESS] [--store S] [--wait]", "a message to try the server's mail settings"],
    load: () => import("../commands/delivery/mail.ts")
  },
  doctor: {
    usage_line: ["doctor [--repair]", "check the replica"],
    load: () => import("../commands/operations/doctor/doctor.ts")
  },
  users: {
    usage_line: ["users invite|reset-password|list|…", "people who work here; invite mails them a code to log in with"],
    load: () => import("../commands/people/users/users.ts"),
    noun: "users"
  },
  webhooks: {
    usage_line: [
      "webhooks listen [--port P] [--secret S]",
      "receive deliveries here and print them; also list, create, logs, test, replay, …"
    ],
    load: () => import("../commands/delivery/webhooks.ts"),
    noun: "webhooks"
  },
  inbox: {
    usage_line: [
      "inbox [read|unread|show] [--all] [--watch]",
      "what you were told: unread, marked as read, or as it comes; offline as listed last"
    ],
    load: () => import("../commands/delivery/inbox/inbox.ts")
  },
  notifications: {
    usage_line: [
      "notifications preferences|settings|set TYPE…",
      "what people are told of, and by which channels: --email, --no-broadcast, --muted …"
    ],
    load: () => import("../commands/delivery/notifications/notifications.ts"),
    noun: "notifications"
  },
  usage: {
    usage_line: [
      "usage [export|logs] [--by token|day|…]",
      "what the API was asked, day by day: a table, a file, single calls"
    ],
    load: () => import("../commands/operations/usage/usage.ts")
  },
  serve: {
    usage_line: ["serve", "the server itself; --help tells what it can be set to"],
    load: () => import("../commands/operations/serve.ts")
  },
  backup: {
    usage_line: [
      "backup create FOLDER | list|verify|restore|prune",
      "the server's database and files in one file, while it runs; verify --restore tries it"
    ],
    load: () => import("../commands/operations/backup.ts")
  },
  completion: {
    usage_line: ["completion bash|zsh|fish", "completion for a shell"],
    load: () => import("../commands/operations/completion/completion.ts")
  }
}
