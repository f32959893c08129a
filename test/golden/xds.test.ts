// Golden test of the translation Ir → xDS; every output must be a configuration that a real Envoy accepts.

import { join } from 'node:path'
import { describe, test } from 'vitest'
import { parse } from 'yaml'
import type { Ir } from '../../src/ir/ir.js'
import { buildXds } from '../../src/xds/translator/build-xds.js'
import type { XdsOptions } from '../../src/xds/translator/xds-options.js'
import { expectGolden, goldenCases } from '../support/golden.js'

const OPTIONS: XdsOptions = {
  listenAddress: '0.0.0.0',
  trustedHops: 0,
  systemCaFile: '/etc/ssl/certs/ca-certificates.crt',
  headersRead: [],
  accessLog: false,
}

describe('Ir → xDS', () => {
  for (const golden of goldenCases(join(import.meta.dirname, 'xds'))) {
    test(golden.name, () => {
      const input = parse(golden.input) as Ir & { readonly options?: Partial<XdsOptions> }
      const byNode = buildXds(input, { ...OPTIONS, ...input.options })
      expectGolden(golden, Object.fromEntries(byNode))
    })
  }
})
