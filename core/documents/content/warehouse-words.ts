/** The words of papers of the warehouse, by language: those that papers of billing have words for. */
export interface WarehouseWords {
  readonly pick_list: string
  readonly delivery_note: string
  readonly return_note: string
  readonly number: string
  readonly pending: string
  readonly order: string
  readonly printed: string
  readonly customer: string
  readonly phone: string
  readonly venue: string
  readonly store: string
  readonly loading: string
  readonly delivery: string
  readonly collection: string
  readonly hire: string
  readonly back_by: string
  readonly deliver_to: string
  readonly collect_from: string
  readonly collects: string
  readonly brings_back: string
  readonly reference: string
  readonly notes: string
  readonly item: string
  readonly quantity: string
  readonly weight: string
  readonly code: string
  readonly out: string
  readonly back: string
  readonly missing: string
  readonly damage: string
  readonly damaged: string
  readonly serial: string
  readonly case: string
  /** `{case}` is replaced. */
  readonly inside: string
  readonly no_place: string
  readonly loose: string
  readonly to_follow: string
  readonly sub_rental: string
  readonly sub_hired: string
  readonly sale: string
  readonly optional: string
  /** `{name}` is replaced. */
  readonly goes_with: string
  /** `{count}` is replaced. */
  readonly to_pick: string
  /** `{places}` is replaced. */
  readonly also_at: string
  readonly gone_out: string
  readonly pieces: string
  /** Short, behind a number. */
  readonly pcs: string
  readonly total: string
  /** `{count}` is replaced. */
  readonly without_weight: string
  readonly nothing: string
  readonly picked_by: string
  readonly handed_over: string
  readonly received_by: string
  readonly taken_back: string
}

const english: WarehouseWords = {
  pick_list: "Pick list",
  delivery_note: "Delivery note",
  return_note: "Return note",
  number: "Number",
  pending: "pending",
  order: "Order",
  printed: "As of",
  customer: "Customer",
  phone: "Phone",
  venue: "Venue",
  store: "Warehouse",
  loading: "Loading",
  delivery: "Delivery",
  collection: "Collection",
  hire: "Hire",
  back_by: "Due back",
  deliver_to: "Deliver to",
  collect_from: "Collect from",
  collects: "The customer collects",
  brings_back: "The customer brings it back",
  reference: "Your reference",
  notes: "Notes",
  item: "Item",
  quantity: "Qty",
  weight: "Weight",
  code: "Code",
  out: "Out",
  back: "Back",
  missing: "Missing",
  damage: "Damage",
  damaged: "Damaged",
  serial: "S/N",
  case: "Case",
  inside: "in {case}",
  no_place: "No place recorded",
  loose: "Not in a case",
  to_follow: "To follow",
  sub_rental: "Sub-rental",
  sub_hired: "Hired in",
  sale: "Sale",
  optional: "Optional",
  goes_with: "for {name}",
  to_pick: "{count} still to pick",
  also_at: "also at {places}",
  gone_out: "out",
  pieces: "Pieces",
  pcs: "pcs",
  total: "Total weight",
  without_weight: "Without a recorded weight: {count} pieces, which the sums leave out.",
  nothing: "There is nothing on it.",
  picked_by: "Picked by",
  handed_over: "Handed over by",
  received_by: "Received complete and in good order (name, date, signature)",
  taken_back: "Taken back by (name, date, signature)"
}
const german: WarehouseWords = {
  pick_list: "Packliste",
  delivery_note: "Lieferschein",
  return_note: "Rücknahmeschein",
  number: "Nummer",
  pending: "folgt",
  order: "Auftrag",
  printed: "Stand",
  customer: "Kunde",
  phone: "Telefon",
  venue: "Veranstaltungsort",
  store: "Lager",
  loading: "Verladung",
  delivery: "Lieferung",
  collection: "Abholung",
  hire: "Mietzeit",
  back_by: "Zurück bis",
  deliver_to: "Lieferadresse",
  collect_from: "Abholadresse",
  collects: "Der Kunde holt ab",
  brings_back: "Der Kunde bringt zurück",
  reference: "Ihr Zeichen",
  notes: "Hinweise",
  item: "Artikel",
  quantity: "Menge",
  weight: "Gewicht",
  code: "Code",
  out: "Aus",
  back: "Zurück",
  missing: "Fehlt",
  damage: "Schaden",
  damaged: "Beschädigt",
  serial: "SN",
  case: "Case",
  inside: "in {case}",
  no_place: "Ohne Lagerplatz",
  loose: "Nicht im Case",
  to_follow: "Folgt später",
  sub_rental: "Zumietung",
  sub_hired: "Zugemietet",
  sale: "Verkauf",
  optional: "Optional",
  goes_with: "zu {name}",
  to_pick: "noch {count} zu nehmen",
  also_at: "auch auf {places}",
  gone_out: "ausgegeben",
  pieces: "Stück",
  pcs: "Stk.",
  total: "Gesamtgewicht",
  without_weight: "Ohne hinterlegtes Gewicht: {count} Stück, in den Summen nicht enthalten.",
  nothing: "Es steht nichts darauf.",
  picked_by: "Kommissioniert von",
  handed_over: "Übergeben von",
  received_by: "Vollständig und einwandfrei erhalten (Name, Datum, Unterschrift)",
  taken_back: "Zurückgenommen von (Name, Datum, Unterschrift)"
}
const french: WarehouseWords = {
  pick_list: "Liste de préparation",
  delivery_note: "Bon de livraison",
  return_note: "Bon de retour",
  number: "Numéro",
  pending: "à venir",
  order: "Commande",
  printed: "Situation au",
  customer: "Client",
  phone: "Téléphone",
  venue: "Lieu",
  store: "Dépôt",
  loading: "Chargement",
  delivery: "Livraison",
  collection: "Enlèvement",
  hire: "Location",
  back_by: "Retour prévu",
  deliver_to: "Livrer à",
  collect_from: "Enlever à",
  collects: "Le client vient chercher",
  brings_back: "Le client rapporte",
  reference: "Votre référence",
  notes: "Remarques",
  item: "Article",
  quantity: "Qté",
  weight: "Poids",
  code: "Code",
  out: "Sorti",
  back: "Rentré",
  missing: "Manque",
  damage: "Dommage",
  damaged: "Endommagé",
  serial: "N° de série",
  case: "Caisse",
  inside: "dans {case}",
  no_place: "Sans emplacement",
  loose: "Hors caisse",
  to_follow: "À suivre",
  sub_rental: "Sous-location",
  sub_hired: "Loué à un tiers",
  sale: "Vente",
  optional: "En option",
  goes_with: "pour {name}",
  to_pick: "encore {count} à prendre",
  also_at: "aussi en {places}",
  gone_out: "sorti",
  pieces: "Pièces",
  pcs: "p.",
  total: "Poids total",
  without_weight: "Sans poids enregistré : {count} pièces, non comprises dans les totaux.",
  nothing: "Rien n’y figure.",
  picked_by: "Préparé par",
  handed_over: "Remis par",
  received_by: "Reçu complet et en bon état (nom, date, signature)",
  taken_back: "Repris par (nom, date, signature)"
}
const spoken: { readonly [language: string]: WarehouseWords } = { en: english, de: german, fr: french }
export const warehouseWords = (language: string): WarehouseWords => spoken[language.split("-")[0] ?? ""] ?? english
