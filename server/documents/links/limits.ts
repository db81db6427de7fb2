/** The longest form that is read at a public address, in bytes: a drawn signature is the most of it. */
export const form_bytes_max = 196_608
