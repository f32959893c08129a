// The examples of a document: what stands in its fences, by language.

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseAllDocuments } from 'yaml'

const ROOT = resolve(import.meta.dirname, '../..')

export const PROVIDERS = 'docs/providers'

/** path: from the root of the repository. */
export const documentText = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** The text of each fence of that language, in their order. */
export const fences = (path: string, language: string): readonly string[] =>
  [
    ...documentText(path).matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')),
  ].map(([, text = '']) => text)

/** The documents of YAML fences, with texts in the place of others. */
export const resourcesIn = (
  yaml: readonly string[],
  replaced: Readonly<Record<string, string>> = {},
): readonly object[] =>
  yaml.flatMap((text) => {
    const filled = Object.entries(replaced).reduce((all, [a, b]) => all.replaceAll(a, b), text)
    return parseAllDocuments(filled).map((document) => document.toJSON() as object)
  })
