// Parses a YAML (or JSON) document into plain values with positions.

import { findUnfit } from './unfit-value.js'
import type { DocumentText, ParsedDocument, ParsedYaml } from './yaml-document.js'
import { readUsual, type UsualDocument } from './yaml-events.js'
import { parseNodes } from './yaml-nodes.js'

/** Parses a document. Never throws: invalid YAML, or YAML built to exhaust resources, yields faults. */
export function parseYaml(document: DocumentText): ParsedYaml {
  const usual = readUsual(document)
  return usual === undefined || findUnfit(usual.value, []) !== undefined
    ? parseNodes(document)
    : { ok: true, value: parsedUsual(usual, document) }
}

/** A usual document, whose nodes are parsed when the position of a field is asked for, as for a message about it. */
function parsedUsual(usual: UsualDocument, document: DocumentText): ParsedDocument {
  let parsed: ParsedYaml | undefined
  const nodes = (): ParsedDocument | undefined => {
    parsed ??= parseNodes(document)
    return parsed.ok ? parsed.value : undefined
  }
  return {
    value: usual.value,
    positionOf: (path, part) =>
      path.length === 0 ? usual.start : (nodes()?.positionOf(path, part) ?? usual.start),
    entryLines: (path) => usual.entryLines(path) ?? nodes()?.entryLines(path) ?? [],
  }
}
