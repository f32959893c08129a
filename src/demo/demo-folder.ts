// Copies config/demo, with the addresses of this run, to a private folder where the user can read and edit it.

import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createPrivateFolder, type PrivateFolder } from '../app/run/private-folder.js'
import { ownFile } from '../own-files.js'
import { type DemoValues, withValues } from './demo-resources.js'

const SOURCE = fileURLToPath(ownFile('config/demo/'))

/** Creates the folder of resources for a run of the demo. */
export async function createDemoFolder(values: DemoValues): Promise<PrivateFolder> {
  const folder = await createPrivateFolder('demo')
  for (const file of await readdir(SOURCE)) {
    const text = await readFile(join(SOURCE, file), 'utf8')
    await writeFile(join(folder.path, file), withValues(text, values))
  }
  return folder
}
