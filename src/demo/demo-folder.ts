// config/demo → a private folder of resources with the addresses of this run, for the user to read and edit.

import { rmSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withValues, type DemoValues } from './demo-resources.js'

// The same from src/demo and from dist/demo.
const SOURCE = fileURLToPath(new URL('../../config/demo/', import.meta.url))

export interface DemoFolder {
  readonly path: string
  remove(): Promise<void>
  /** For the sudden end of the process. */
  removeNow(): void
}

export async function createDemoFolder(values: DemoValues): Promise<DemoFolder> {
  // mkdtemp makes it 0700.
  const path = await mkdtemp(join(tmpdir(), 'gatehouse-demo-'))
  for (const file of await readdir(SOURCE)) {
    const text = await readFile(join(SOURCE, file), 'utf8')
    await writeFile(join(path, file), withValues(text, values))
  }
  return {
    path,
    remove: () => rm(path, { recursive: true, force: true }),
    removeNow: () => rmSync(path, { recursive: true, force: true }),
  }
}
