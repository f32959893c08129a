// gatehouse crds: prints the CustomResourceDefinitions of Gatehouse's kinds in the API group, as YAML documents.

import { stringify } from 'yaml'
import { buildCrds } from '../../control/schema/crd/crd.js'
import type { Settings } from '../../ops/settings/settings.js'
import type { CommandIo, ExitCode } from './command-io.js'

/** Runs `gatehouse crds`. */
export function crds(settings: Settings, io: CommandIo): Promise<ExitCode> {
  const documents = buildCrds(settings.apiGroup).map((crd) =>
    stringify(crd, { lineWidth: 0, aliasDuplicateObjects: false }),
  )
  io.out(documents.join('---\n'))
  return Promise.resolve(0)
}
