// The files of config that users copy: they decode, and `gatehouse check --strict` finds nothing to say about them.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { reportCheck } from '../../../src/cli/commands/check.js'
import { translateOffline } from '../../../src/cli/commands/offline.js'
import type { Resource } from '../../../src/control/schema/kinds/resources.js'
import { loadResources } from '../../../src/control/sources/files/load-resources.js'
import { parseCommandLine } from '../../../src/ops/settings/settings.js'

const API_GROUP = 'policy.gatehouse.dev'
const config = fileURLToPath(new URL('../../../config', import.meta.url))
const examples = readdirSync(join(config, 'examples')).map((name) => `examples/${name}`)

it.each(['demo', ...examples])('config/%s decodes without a problem', async (name) => {
  const { problems, notes, complete, resources } = await loadResources([join(config, name)], {
    apiGroup: API_GROUP,
  })
  expect(problems).toEqual([])
  expect(notes).toEqual([])
  expect(complete).toBe(true)
  const all = Object.values(resources as unknown as Record<string, Resource<unknown>[]>).flat()
  expect(all.length).toBeGreaterThan(0)
  expect(all.flatMap(({ unsupported }) => unsupported)).toEqual([])
})

/** What is left to say: the user's own certificate is missing, and mode Audit denies nothing. */
const LEFT: Readonly<Record<string, RegExp>> = {
  'examples/https-listener.yaml':
    /^Gateway default\/gateway: (?:Accepted|Programmed|ResolvedRefs)=False \((?:ListenersNotValid|Invalid|InvalidCertificateRef)\)/,
  'examples/audit.yaml': /^ProxyPolicy default\/team-rule: Attached=True \(Audit\) /,
}

it.each(['demo', ...examples])('config/%s: check --strict says that all is well', async (name) => {
  const line = parseCommandLine(['check', join(config, name), '--strict'], {})
  if (line.type !== 'settings') throw new Error(JSON.stringify(line))
  const { text, isGood } = reportCheck(await translateOffline(line.settings), line.settings)
  const found = [...text.matchAll(/: (?:error|warning|note): (.*)$/gm)].map(([, said]) => said)
  const left = LEFT[name]
  expect(found.filter((said = '') => left?.test(said) !== true)).toEqual([])
  expect(isGood).toBe(left === undefined)
  if (isGood) expect(text).toMatch(/; all is well\n$/)
})

it('an unknown kind is a note', async () => {
  const { problems, notes } = await loadResources([join(config, 'crd')], { apiGroup: API_GROUP })
  expect(problems).toEqual([])
  expect(notes).toHaveLength(3)
})
