// Extracts the examples from a document: the contents of its code fences, by language.

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseAllDocuments } from 'yaml'

const ROOT = resolve(import.meta.dirname, '../..')

export const PROVIDERS = 'docs/providers'

/** @param path relative to the root of the repository. */
export const documentText = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Returns the text of each fence of that language, in order. */
export const fences = (path: string, language: string): readonly string[] =>
  [
    ...documentText(path).matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')),
  ].map(([, text = '']) => text)

/** Parses the documents of YAML fences, after the given text replacements. */
export const resourcesIn = (
  yaml: readonly string[],
  replaced: Readonly<Record<string, string>> = {},
): readonly object[] =>
  yaml.flatMap((text) => {
    const filled = Object.entries(replaced).reduce((all, [a, b]) => all.replaceAll(a, b), text)
    return parseAllDocuments(filled).map((document) => document.toJSON() as object)
  })
