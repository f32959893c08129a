// Sections → docs/performance.md, in which each benchmark writes its own and leaves those of the others alone.

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './processes.js'

const PAGE = join(root, 'docs/performance.md')

/** text: in Markdown; each section that it has takes the place of the one with the same heading, or comes behind the one before. */
export async function writeSections(text: string): Promise<void> {
  const page = [...sectionsOf(await readFile(PAGE, 'utf8'))]
  let last = -1
  for (const own of sectionsOf(text)) {
    const at = page.findIndex(([heading]) => heading === own[0])
    last = at === -1 ? last + 1 : at
    page.splice(last, at === -1 ? 0 : 1, own)
  }
  await writeFile(PAGE, page.map(([, section]) => section).join('\n'))
}

/** By heading, in their order; what stands before the first is under the page's own. */
const sectionsOf = (text: string): Map<string, string> =>
  new Map(
    text
      .split(/^(?=##? )/m)
      .map((section) => [section.split('\n', 1)[0] ?? '', `${section.trimEnd()}\n`]),
  )
