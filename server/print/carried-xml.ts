/** What makes a drawn invoice a Factur-X one: the XML inside, and the metadata that say so. For drawing threads. */
import type { Attachment, TDocumentDefinitions } from "pdfmake"

const file_name = "factur-x.xml"
const namespace = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#"

/** Goes with the definition of the document. The XML says what the pages say: an alternative to them. */
export const carryingDefinition = (
  xml: string,
  dated: Date
): Required<Pick<TDocumentDefinitions, "subset" | "version" | "files">> => {
  const file: Attachment = {
    src: `data:text/xml;base64,${Buffer.from(xml, "utf8").toString("base64")}`,
    name: file_name,
    type: "text/xml",
    description: "The invoice for programs (CII, EN 16931)",
    relationship: "Alternative",
    creationDate: dated,
    modifiedDate: dated
  }
  return { subset: "PDF/A-3b", version: "1.7", files: { [file_name]: file } }
}

/** What we use of the PDF library's document, which has more in it than its types tell. */
interface Finished {
  readonly info: { [key: string]: unknown }
  endSubset: () => void
  readonly appendXML: (xml: string) => void
}
const isFinished = (document: object): document is Finished =>
  "endSubset" in document && "appendXML" in document && "info" in document

/**
 * The metadata are written when the document ends, and the library puts title and author in without escaping them, once
 * what the reader of the file sees has been written.
 */
export const describeCarried = (document: object): void => {
  if (!isFinished(document)) throw new Error("the PDF library has no metadata")
  const end = document.endSubset
  document.endSubset = function () {
    end.call(this)
    for (const [key, value] of Object.entries(document.info))
      if (typeof value === "string" || value instanceof String) document.info[key] = escaped(String(value))
    document.appendXML(invoice_metadata)
    document.appendXML(schema_metadata)
  }
}
const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "")

const invoice_metadata = `
        <rdf:Description xmlns:fx="${namespace}" rdf:about="">
            <fx:DocumentType>INVOICE</fx:DocumentType>
            <fx:DocumentFileName>${file_name}</fx:DocumentFileName>
            <fx:Version>1.0</fx:Version>
            <fx:ConformanceLevel>EN 16931</fx:ConformanceLevel>
        </rdf:Description>
        `
const property = (name: string, description: string): string => `
                                <rdf:li rdf:parseType="Resource">
                                    <pdfaProperty:name>${name}</pdfaProperty:name>
                                    <pdfaProperty:valueType>Text</pdfaProperty:valueType>
                                    <pdfaProperty:category>external</pdfaProperty:category>
                                    <pdfaProperty:description>${description}</pdfaProperty:description>
                                </rdf:li>`
/** PDF/A wants metadata of others' kinds described in the file itself. */
const schema_metadata = `
        <rdf:Description
            xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
            xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"
            xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#"
            rdf:about="">
            <pdfaExtension:schemas>
                <rdf:Bag>
                    <rdf:li rdf:parseType="Resource">
                        <pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>
                        <pdfaSchema:namespaceURI>${namespace}</pdfaSchema:namespaceURI>
                        <pdfaSchema:prefix>fx</pdfaSchema:prefix>
                        <pdfaSchema:property>
                            <rdf:Seq>${[
                              property("DocumentFileName", "name of the embedded XML invoice file"),
                              property("DocumentType", "INVOICE"),
                              property("Version", "The actual version of the Factur-X XML schema"),
                              property("ConformanceLevel", "The conformance level of the embedded Factur-X data")
                            ].join("")}
                            </rdf:Seq>
                        </pdfaSchema:property>
                    </rdf:li>
                </rdf:Bag>
            </pdfaExtension:schemas>
        </rdf:Description>
        `
