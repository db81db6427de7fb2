/**
 * Lists that other rental systems export, for `import all --from`. Rentman's headings are those of its help pages; the
 * others follow the names of their fields. Several are given where they may differ; the first that a file has is read.
 */

/** The file's headings by column of the import; `{A} {B}` joins cells. */
type Headings = { readonly [column: string]: ReadonlyArray<string> }
// Private customers become organisations, as contacts hire only where a setting lets them.

/** Values of the import by the file's words in lower case, by column of the import. */
type Words = { readonly [column: string]: { readonly [word: string]: string } }

interface ForeignList {
  readonly kind: "products" | "members"
  /** Matches the file's name without its extension, with blanks for `_` and `-`. */
  readonly file: RegExp
  readonly columns: Headings
  readonly words?: Words
  /** Kind of the ids, where a system numbers several kinds from 1. */
  readonly ids?: string
  /** Values of columns for which the file has no heading. */
  readonly otherwise?: { readonly [column: string]: string }
}
type StockColumn = "product" | "store" | "code" | "quantity"
type OrderColumn = "number" | "subject" | "customer" | "starts" | "ends" | "store" | "status"
/** State an order gets here; `out` is an order whose goods had left, `closed` is not imported. */
type ForeignState = "draft" | "quotation" | "order" | "out" | "closed"
export interface ForeignSystem {
  readonly label: string
  readonly lists: ReadonlyArray<ForeignList>
  /** Units and quantities by store; without a file of its own, rows of the products' file. */
  readonly stock: { readonly file?: RegExp; readonly columns: { readonly [C in StockColumn]: ReadonlyArray<string> } }
  readonly orders: {
    readonly file: RegExp
    readonly columns: { readonly [C in OrderColumn]: ReadonlyArray<string> }
    readonly lines_file: RegExp
    readonly lines: { readonly [C in "number" | "product" | "sku" | "quantity" | "total"]: ReadonlyArray<string> }
    readonly states: { readonly [word: string]: ForeignState }
  }
}

/** Matches a list's name, also with `export`, `list`, `all` or numbers behind it: `products 2026 11 28`. */
const called = (name: string): RegExp => new RegExp(`^(${name})( (export|list|all|\\d+))*$`, "i")

const address: Headings = {
  city: ["City", "Town", "Town/City"],
  county: ["County", "State", "State/Province", "Region", "Province"],
  postcode: ["Postcode", "Post code", "Postal code", "Zipcode", "Zip code", "Zip"],
  country: ["Country"]
}
const reached: Headings = {
  email: ["Email", "E-mail", "Email address", "Email 1", "E-mail address"],
  phone: ["Telephone", "Phone", "Phone number", "Phone number 1", "Work phone"],
  link: ["Website", "Web site", "Homepage"]
}
const kept: Headings = {
  tags: ["Tags", "Tag list"],
  notes: ["Notes", "Note", "Remark", "Description"],
  is_active: ["Active", "Is active"]
}

const current_rms: ForeignSystem = {
  label: "Current RMS",
  lists: [
    ...(["organisation", "venue"] as const).map((type): ForeignList => ({
      kind: "members",
      file: called(`${type}s?`),
      columns: {
        external_id: ["ID", "Mapping ID"],
        number: ["Account number", "Number"],
        name: ["Name", "Organisation name", "Organisation", "Venue name"],
        street: ["Street", "Address", "Street address"],
        ...address,
        ...reached,
        ...kept,
        tax_number: ["Tax number", "VAT number"],
        invoice_term: ["Invoice term"]
      },
      otherwise: { type }
    })),
    {
      kind: "members",
      file: called("contacts?|people"),
      columns: {
        external_id: ["ID", "Mapping ID"],
        name: ["Name", "{First name} {Last name}"],
        organisation: ["Organisation", "Organisations", "Company"],
        title: ["Job title", "Title"],
        ...reached,
        ...kept
      },
      otherwise: { type: "contact" }
    },
    {
      kind: "products",
      file: called("products?"),
      columns: {
        sku: ["SKU", "Product code", "Code"],
        name: ["Name", "Product name", "Product"],
        description: ["Description"],
        barcode: ["Barcode"],
        group: ["Product group", "Product group name", "Group"],
        product_type: ["Product type"],
        stock_method: ["Stock method"],
        allowed_stock_type: ["Allowed stock type"],
        weight: ["Weight", "Weight (kg)"],
        replacement_charge: ["Replacement charge"],
        purchase_price: ["Purchase price"],
        sub_rental_price: ["Sub-rental price", "Sub rental price"],
        buffer_percent: ["Buffer percent", "Buffer %"],
        post_rent_unavailability: ["Post rent unavailability", "Post-rent unavailability"],
        tax_class: ["Tax class", "Product tax class"],
        is_active: ["Active"],
        accessory_only: ["Accessory only"],
        discountable: ["Discountable"],
        tag_list: ["Tags", "Tag list"],
        "rate.preset": ["Rate definition", "Rate engine"],
        "rate.price": ["Rental price", "Rental charge", "Rental rate", "Price"]
      },
      otherwise: { "rate.preset": "daily-rate" }
    }
  ],
  stock: {
    file: called("stock( levels?| items?)?"),
    columns: {
      product: ["Product", "Product name", "Item name"],
      store: ["Store", "Store name"],
      code: ["Asset number", "Asset No", "Barcode"],
      quantity: ["Quantity held", "Quantity"]
    }
  },
  orders: {
    file: called("opportunities|orders"),
    columns: {
      number: ["Number", "Opportunity number", "Opportunity"],
      subject: ["Subject", "Name"],
      customer: ["Organisation", "Customer", "Member", "Organisation name"],
      starts: ["Starts at", "Start date", "Start"],
      ends: ["Ends at", "End date", "End"],
      store: ["Store", "Store name"],
      status: ["State", "Status"]
    },
    lines_file: called("(opportunity|order) ?(items|lines)"),
    lines: {
      number: ["Opportunity number", "Number", "Opportunity"],
      product: ["Product", "Item", "Item name", "Product name", "Name"],
      sku: ["SKU", "Product code"],
      quantity: ["Quantity"],
      total: ["Charge total", "Total", "Charge"]
    },
    states: {
      ...{ enquiry: "draft", draft: "draft", provisional: "quotation", quotation: "quotation", reserved: "quotation" },
      ...{ order: "order", active: "order", open: "order", confirmed: "order", complete: "closed", closed: "closed" },
      ...{ cancelled: "closed", canceled: "closed", lost: "closed", dead: "closed", postponed: "draft" }
    }
  }
}

const rentman: ForeignSystem = {
  label: "Rentman",
  lists: [
    {
      kind: "members",
      file: called("contacts?|relations?"),
      columns: {
        external_id: ["ID"],
        number: ["Code", "Number", "Customer number", "Debtor number"],
        name: ["Name", "Company name", "Display name"],
        type: ["Type", "Contact type"],
        street: ["{Street} {House number}", "{Visiting street} {Visiting number}", "Street", "Address"],
        ...address,
        ...reached,
        ...kept,
        tax_number: ["VAT number", "VAT code"],
        chamber_of_commerce_number: ["COC number", "Commerce code", "Chamber of commerce number"]
      },
      words: { type: { company: "organisation", private: "organisation", person: "organisation", location: "venue" } },
      otherwise: { type: "organisation" }
    },
    {
      kind: "members",
      file: called("contact ?persons?"),
      ids: "person",
      columns: {
        external_id: ["ID"],
        name: ["Name", "{First name} {Middle name} {Last name}", "{First name} {Last name}"],
        organisation: ["Contact", "Company", "Contact name"],
        title: ["Function", "Job title"],
        ...reached
      },
      otherwise: { type: "contact" }
    },
    {
      kind: "products",
      file: called("equipment"),
      columns: {
        sku: ["Code"],
        name: ["Name (In Database)", "Name in database", "Name"],
        description: ["Remark", "Description"],
        group: ["Folder", "Equipment folder", "Folder path"],
        product_type: ["Rental/Sales", "Rental/sales"],
        stock_method: ["Stock calculation method", "Stock management"],
        weight: ["Weight (kg)", "Weight"],
        replacement_charge: ["New price", "List price"],
        sub_rental_price: ["Subrental cost", "Subrental costs"],
        tag_list: ["Tags"],
        "rate.price": ["Rental / Sales price", "Rental price", "Price"]
      },
      words: {
        product_type: { rental: "rental", sales: "sale", sale: "sale" },
        stock_method: { bulk: "bulk", serialized: "serialised", "serial numbers": "serialised", "no stock": "bulk" }
      },
      otherwise: { "rate.preset": "daily-rate" }
    }
  ],
  stock: {
    columns: {
      product: [],
      store: ["Stock location", "Location"],
      code: ["Internal reference (Serial number)", "Serial number (Serial number)", "Internal reference"],
      quantity: ["Current quantity", "Current stock", "Quantity", "Stock"]
    }
  },
  orders: {
    file: called("projects?"),
    columns: {
      number: ["Number", "Project number"],
      subject: ["Name", "Project name", "Project"],
      customer: ["Client", "Customer", "Contact"],
      starts: ["Usage period start", "Usage period from", "Start", "Planning period start"],
      ends: ["Usage period end", "Usage period to", "End", "Planning period end"],
      store: ["Stock location"],
      status: ["Status", "Project status"]
    },
    lines_file: called("(project|planned) ?equipment"),
    lines: {
      number: ["Project number", "Number", "Project"],
      product: ["Name", "Equipment", "Name (In Database)"],
      sku: ["Code", "Equipment code"],
      quantity: ["Quantity"],
      total: ["Total price", "Total", "Price total"]
    },
    states: {
      ...{ inquiry: "draft", concept: "draft", pending: "draft", option: "quotation", confirmed: "order" },
      ...{ prepped: "order", "on location": "out", returned: "closed", canceled: "closed", cancelled: "closed" }
    }
  }
}

const booqable: ForeignSystem = {
  label: "Booqable",
  lists: [
    {
      kind: "members",
      file: called("customers?"),
      columns: {
        external_id: ["ID"],
        number: ["Number", "Customer number"],
        name: ["Name", "Customer name"],
        type: ["Legal type", "Type"],
        street: ["Address line 1", "Address", "Street", "Address 1"],
        ...address,
        ...reached,
        ...kept
      },
      words: {
        type: {
          commercial: "organisation",
          company: "organisation",
          person: "organisation",
          individual: "organisation"
        }
      },
      otherwise: { type: "organisation" }
    },
    {
      kind: "products",
      file: called("products?"),
      columns: {
        sku: ["SKU"],
        name: ["Name", "Product name"],
        description: ["Description"],
        product_type: ["Type", "Product type"],
        stock_method: ["Tracking", "Tracking type", "Trackable"],
        weight: ["Weight", "Weight (kg)"],
        tag_list: ["Tags"],
        is_active: ["Active"],
        "rate.preset": ["Price period", "Charge period", "Period"],
        "rate.price": ["Base price", "Price"]
      },
      words: {
        product_type: { rental: "rental", consumable: "sale", sales: "sale", "sales item": "sale", service: "service" },
        stock_method: { bulk: "bulk", trackable: "serialised", tracked: "serialised", yes: "serialised", no: "bulk" },
        "rate.preset": { hour: "hourly-rate", day: "daily-rate", week: "weekly-rate", month: "monthly-rate" }
      },
      otherwise: { "rate.preset": "daily-rate" }
    }
  ],
  stock: {
    file: called("stock( levels?| items?)?"),
    columns: {
      product: ["Product", "Product name"],
      store: ["Location", "Location name"],
      code: ["Identifier", "Stock item"],
      quantity: ["Quantity", "Stock count"]
    }
  },
  orders: {
    file: called("orders?"),
    columns: {
      number: ["Order number", "Number"],
      subject: ["Title", "Subject", "Name"],
      customer: ["Customer", "Customer name"],
      starts: ["Starts at", "Start date", "Pickup date", "Pickup"],
      ends: ["Stops at", "End date", "Return date", "Return"],
      store: ["Location", "Start location", "Pickup location"],
      status: ["Status"]
    },
    lines_file: called("order ?lines|lines|order ?items"),
    lines: {
      number: ["Order number", "Order", "Number"],
      product: ["Product", "Product name", "Title", "Item"],
      sku: ["SKU"],
      quantity: ["Quantity"],
      total: ["Total", "Price"]
    },
    states: {
      ...{ new: "draft", concept: "quotation", draft: "quotation", reserved: "order", started: "out" },
      ...{ stopped: "closed", archived: "closed", canceled: "closed", cancelled: "closed" }
    }
  }
}

export const foreign_systems: { readonly [system: string]: ForeignSystem | undefined } = {
  "current-rms": current_rms,
  rentman,
  booqable
}
