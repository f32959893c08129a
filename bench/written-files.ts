// Objects → the YAML files of a folder, some documents in each; and one of them written anew.

import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'

export interface WrittenFiles {
  /** Writes the file that has the object of this kind and name. */
  readonly put: (object: object) => Promise<void>
}

/** perFile: how many documents a file has. */
export async function writeFiles(
  folder: string,
  objects: readonly object[],
  perFile: number,
): Promise<WrittenFiles> {
  const documents = objects.map((object) => documentOf(object))
  const places = new Map(objects.map((object, index) => [keyOf(object), index]))
  const write = (file: number): Promise<void> => {
    const text = documents.slice(file * perFile, (file + 1) * perFile).join('---\n')
    return replace(join(folder, `${String(file)}.yaml`), text)
  }
  const files = Math.ceil(documents.length / perFile)
  for (let file = 0; file < files; file += 1) await write(file)
  return {
    put: (object) => {
      const place = places.get(keyOf(object))
      if (place === undefined) throw new Error(`there is no ${keyOf(object)}`)
      documents[place] = documentOf(object)
      return write(Math.floor(place / perFile))
    },
  }
}

/** By a rename, as most tools do: what is written in place is in force only when it has been quiet for 2 s. */
async function replace(path: string, text: string): Promise<void> {
  const draft = `${path}.draft`
  await writeFile(draft, text)
  await rename(draft, path)
}

const documentOf = (object: object): string => stringify(object, { lineWidth: 0 })

function keyOf(object: object): string {
  const { kind, metadata } = object as { kind: string; metadata: { name: string } }
  return `${kind} ${metadata.name}`
}
