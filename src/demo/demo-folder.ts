// config/demo → a private folder of resources with the ports of this run, for the user to read and edit.

import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CONFIG_PORTS } from './demo-parties.js'

const SOURCE = fileURLToPath(new URL('../../config/demo/', import.meta.url))
const SOURCE_API_GROUP = 'policy.gatehouse.dev'

export interface DemoFolder {
  readonly resources: string
  /** Writes a file that only this user can read, beside the resources; its path. */
  keep(name: string, text: string): Promise<string>
  remove(): Promise<void>
  /** For the sudden end of the process. */
  removeNow(): void
}

export interface DemoValues {
  readonly ports: Readonly<Record<keyof typeof CONFIG_PORTS, number>>
  readonly apiGroup: string
}

export async function createDemoFolder(values: DemoValues): Promise<DemoFolder> {
  // mkdtemp makes it 0700.
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-demo-'))
  const resources = join(folder, 'resources')
  await mkdir(resources)
  for (const file of await readdir(SOURCE)) {
    const text = await readFile(join(SOURCE, file), 'utf8')
    await writeFile(join(resources, file), withValues(text, values))
  }
  const keep = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name)
    await writeFile(path, text, { mode: 0o600 })
    return path
  }
  return {
    resources,
    keep,
    remove: () => rm(folder, { recursive: true, force: true }),
    removeNow: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** All ports in one pass: a port of this run may be one that the files name for something else. */
function withValues(text: string, { ports, apiGroup }: DemoValues): string {
  const names = Object.keys(CONFIG_PORTS) as (keyof typeof CONFIG_PORTS)[]
  const ours = new Map(names.map((name) => [String(CONFIG_PORTS[name]), String(ports[name])]))
  return text
    .replace(/\b\d{4}\b/g, (number) => ours.get(number) ?? number)
    .replaceAll(SOURCE_API_GROUP, apiGroup)
}
