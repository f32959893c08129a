// Writes objects as YAML files of a folder, several documents per file, and rewrites the file of a changed object.

import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'

export interface WrittenFiles {
  /** Replaces the object of the same kind and name and rewrites its file. */
  readonly put: (object: object) => Promise<void>
}

/** @param perFile documents per file. */
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

/** Replaces the file by a rename, as most tools do. A file written in place takes effect only after 2 s of quiet. */
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
