// Golden test of the translation from Ir to xDS. It shows the decoded form of the sent bytes, as part of a
// configuration that a real Envoy accepts.

import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { findEnvoy } from '../../src/cli/run-envoy/find-envoy.js'
import { validateConfig } from '../../src/cli/run-envoy/validate.js'
import type { Ir } from '../../src/model/ir.js'
import { bootstrapJson } from '../../src/xds/bootstrap/bootstrap.js'
import { buildStaticConfig } from '../../src/xds/bootstrap/static-config.js'
import { buildXds } from '../../src/xds/translator/build-xds.js'
import type { XdsByNode, XdsOptions, XdsResources } from '../../src/xds/translator/xds-resources.js'
import { selfSigned } from '../support/certificates.js'
import { expectGolden, goldenCases } from '../support/golden.js'
import { jsonOf } from '../support/json-resources.js'

/** Members of a case's file beside the Ir. */
interface Input extends Ir {
  readonly options?: Partial<XdsOptions>
  /** Types of the output that the case is about; everything when absent. */
  readonly show?: readonly (keyof XdsResources)[]
  /** Nodes of the output that the case is about; "*" when absent. */
  readonly nodes?: readonly string[]
}

const OPTIONS: XdsOptions = {
  listenAddress: '0.0.0.0',
  trustedHops: 0,
  systemCaFile: '/etc/ssl/certs/ca-certificates.crt',
  accessLog: false,
}

const pair = selfSigned('a.example')

/** Envoy reads certificates; the files only have words in their place, so that no private key lies about. */
const withRealCertificates = (text: string): string =>
  text
    .replaceAll('"<a certificate>"', JSON.stringify(pair.cert))
    .replaceAll('"<its private key>"', JSON.stringify(pair.key))

const shown = (byNode: XdsByNode, input: Input): object =>
  Object.fromEntries(
    (input.nodes ?? ['*']).map((node) => {
      const resources = byNode.get(node)
      const entries = Object.entries(resources === undefined ? {} : jsonOf(resources))
      return [node, Object.fromEntries(entries.filter(([type]) => isShown(type, input)))]
    }),
  )

const isShown = (type: string, { show }: Input): boolean =>
  show === undefined || show.some((wanted) => wanted === type)

describe('Ir → xDS', () => {
  let envoy: string

  beforeAll(async () => {
    envoy = await findEnvoy()
  }, 600_000)

  for (const golden of goldenCases(join(import.meta.dirname, 'xds'))) {
    test.concurrent(golden.name, async () => {
      const input = parse(golden.input) as Input
      const real = parse(withRealCertificates(golden.input)) as Input
      const xds = { ...OPTIONS, ...input.options }
      const byNode = buildXds(input, xds)
      expectGolden(golden, shown(byNode, input))
      expect(await validateConfig(envoy, bootstrapJson(staticConfig(real, xds)))).toEqual({ ok: true })
    })
  }
})

const staticConfig = (ir: Ir, xds: XdsOptions) =>
  buildStaticConfig(ir, {
    xds,
    connection: { address: { type: 'unix', path: '/run/gatehouse/gatehouse.sock' } },
    envoyAdmin: { type: 'tcp', host: '127.0.0.1', port: 0 },
    certificates: 'inline',
  })
