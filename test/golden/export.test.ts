// Golden test of exports: resources of a mesh, with our policies → the manifests, or why there are none; and the parts of a
// configuration for an Envoy that somebody configures.

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { exportEnvoyGateway } from '../../src/export/envoy-gateway/export.js'
import { type ExportTargets, manifestText } from '../../src/export/manifest.js'
import { createTranslator } from '../../src/gatewayapi/translator.js'
import { collectResources } from '../../src/resources/decode/resource-set.js'
import { decodeFile } from '../../src/resources/files/file-record.js'
import { kindsOf } from '../../src/resources/kinds/kinds.js'
import type { Resources } from '../../src/resources/kinds/resources.js'
import { bootstrapJson } from '../../src/xds/bootstrap/bootstrap.js'
import { fragmentOf } from '../../src/xds/bootstrap/fragment.js'
import { buildStaticConfig } from '../../src/xds/bootstrap/static-config.js'
import { expectGolden, goldenCases } from '../support/golden.js'
import { API_GROUP } from '../support/resources.js'
import { OPTIONS } from '../support/translate-case.js'

const TARGETS: ExportTargets = {
  gatehouse: { host: 'gatehouse.gatehouse.svc.cluster.local', port: 18_000 },
  closed: { host: '10.0.0.9', port: 18_009 },
}

function resourcesOf(text: string): Resources {
  const { resources, problems } = decodeFile(Buffer.from(text), 'case.yaml', kindsOf(API_GROUP))
  expect(problems).toEqual([])
  return collectResources(resources).resources
}

describe('a mesh by Envoy Gateway', () => {
  for (const golden of goldenCases(join(import.meta.dirname, 'export/envoy-gateway')))
    test(golden.name, () => {
      const translator = createTranslator({ ...OPTIONS, mesh: 'envoy-gateway' })
      const translation = translator.translate(resourcesOf(golden.input), new Map())
      const exported = exportEnvoyGateway(translation.mesh ?? [], {
        ...TARGETS,
        ...(golden.name.startsWith('tls-') && { serverName: 'gatehouse.example' }),
        ...(golden.name.startsWith('sealed-') && { newSeal: () => 'a-new-secret-for-this-namespace-' }),
      })
      const { authz, proc } = translation.ir
      expectGolden(golden, {
        ...(exported.ok
          ? {
              manifests: parseAllDocuments(manifestText(exported.value)).map(
                (document) => document.toJS() as object,
              ),
            }
          : { problems: exported.error }),
        tables: { authz: authz.map(({ key }) => key), proc: proc.map(({ key }) => key) },
      })
      expect(translation.ir.gateways).toEqual([])
    })
})

describe('an Envoy that somebody configures', () => {
  for (const golden of goldenCases(join(import.meta.dirname, 'export/envoy')))
    test(golden.name, () => {
      const { ir } = createTranslator(OPTIONS).translate(resourcesOf(golden.input), new Map())
      const config = buildStaticConfig(ir, {
        xds: { listenAddress: '0.0.0.0', trustedHops: 0, systemCaFile: '/ca', accessLog: false },
        connection: { address: { type: 'tcp', ...TARGETS.gatehouse } },
        envoyAdmin: { type: 'tcp', host: '127.0.0.1', port: 19_000 },
        certificates: 'inline',
      })
      expectGolden(golden, fragmentOf(bootstrapJson(config)))
    })
})
