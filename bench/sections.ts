// Sections → docs/performance.md, in which each benchmark writes its own and leaves those of the others alone.

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './processes.js'

const PAGE = join(root, 'docs/performance.md')

/** text: in Markdown; each section that it has takes the place of the one with the same heading. */
export async function writeSections(text: string): Promise<void> {
  const page = sectionsOf(await readFile(PAGE, 'utf8'))
  for (const [heading, section] of sectionsOf(text)) page.set(heading, section)
  await writeFile(PAGE, [...page.values()].join('\n'))
}

/** By heading, in their order; what stands before the first is under the page's own. */
const sectionsOf = (text: string): Map<string, string> =>
  new Map(
    text
      .split(/^(?=##? )/m)
      .map((section) => [section.split('\n', 1)[0] ?? '', `${section.trimEnd()}\n`]),
  )
