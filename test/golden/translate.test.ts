// Golden test of the translation from resources to Ir, status and wanted documents. A real Envoy must accept the
// configuration of each case, because one rejected route would take the others with it.

import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { findEnvoy } from '../../src/cli/run-envoy/find-envoy.js'
import { validateConfig } from '../../src/cli/run-envoy/validate.js'
import type { Ir } from '../../src/model/ir.js'
import { bootstrapJson } from '../../src/xds/bootstrap/bootstrap.js'
import { buildStaticConfig } from '../../src/xds/bootstrap/static-config.js'
import { expectGolden, goldenCases } from '../support/golden.js'
import { translateCase } from '../support/translate-case.js'

describe('resources → Ir and status', () => {
  let envoy: string

  beforeAll(async () => {
    envoy = await findEnvoy()
  }, 600_000)

  for (const golden of goldenCases(join(import.meta.dirname, 'translate')))
    test.concurrent(golden.name, async () => {
      const { ir, shown } = translateCase(golden.input)
      expectGolden(golden, shown)
      expect(await validateConfig(envoy, bootstrapJson(staticConfig(ir)))).toEqual({ ok: true })
    })
})

const staticConfig = (ir: Ir) =>
  buildStaticConfig(ir, {
    xds: {
      listenAddress: '0.0.0.0',
      trustedHops: 0,
      systemCaFile: '/etc/ssl/certs/ca-certificates.crt',
      accessLog: false,
    },
    connection: { address: { type: 'unix', path: '/run/gatehouse/gatehouse.sock' } },
    envoyAdmin: { type: 'tcp', host: '127.0.0.1', port: 0 },
    certificates: 'inline',
  })
