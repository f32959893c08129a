// Updates docs/performance.md: each benchmark replaces its own sections and leaves the others unchanged.

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './processes.js'

const PAGE = join(root, 'docs/performance.md')

/** Writes the sections of a Markdown text into the page. */
export async function writeSections(text: string): Promise<void> {
  await writeFile(PAGE, withSections(await readFile(PAGE, 'utf8'), text))
}

/**
 * Returns a page with the sections of a text. Each replaces the section with the same heading, or is inserted after the
 * previous one; a first one that the page lacks is appended.
 */
export function withSections(before: string, text: string): string {
  const page = [...sectionsOf(before)]
  let last = page.length - 1
  for (const own of sectionsOf(text)) {
    const at = page.findIndex(([heading]) => heading === own[0])
    last = at === -1 ? last + 1 : at
    page.splice(last, at === -1 ? 0 : 1, own)
  }
  return page.map(([, section]) => section).join('\n')
}

/** Splits a page into its sections, keyed by heading, in order. The introduction belongs to the page's title. */
const sectionsOf = (text: string): Map<string, string> =>
  new Map(
    text
      .split(/^(?=##? )/m)
      .map((section) => [section.split('\n', 1)[0] ?? '', `${section.trimEnd()}\n`]),
  )
