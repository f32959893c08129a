// The certificates of a listener: Envoy parses them again for each listener, so that each has room for ordinary ones alone.

import { expect, test } from 'vitest'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import { selfSigned } from '../../support/certificates.js'
import { decoded } from '../../support/decoded.js'
import { gateway } from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const { cert, key } = selfSigned('a.example')

/** copies: of the certificate in its chain, of some 600 characters each. */
const secret = (name: string, copies: number): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  data: {
    'tls.crt': Buffer.from(cert.repeat(copies)).toString('base64'),
    'tls.key': Buffer.from(key).toString('base64'),
  },
})

function translate(secrets: readonly object[], names: readonly string[]) {
  const listener = {
    name: 'https',
    port: 8443,
    protocol: 'HTTPS',
    tls: { certificateRefs: names.map((name) => ({ name })) },
  }
  const documents = [gateway([listener]), ...secrets]
  const { ir, statuses } = createTranslator(OPTIONS).translate(
    collectResources(documents.flatMap(decoded)).resources,
    new Map(),
  )
  const chains = ir.gateways.flatMap(({ listeners }) => listeners).flatMap(({ chains: own }) => own)
  return {
    certificates: chains.flatMap(({ tls }) => tls?.certificates ?? []),
    conditions: statuses.find(({ kind }) => kind === 'Gateway')?.conditions,
  }
}

test('a Secret that is named 64 times is used once', () => {
  const { certificates } = translate(
    [secret('a', 1)],
    Array.from({ length: 64 }, () => 'a'),
  )
  expect(certificates).toEqual(['default/a'])
})

test('those beyond 512 KB are not used, and the status says so', () => {
  const { certificates, conditions } = translate(
    [secret('a', 3), secret('long', 1_000), secret('b', 3)],
    ['a', 'long', 'b'],
  )
  expect(certificates).toEqual(['default/a', 'default/b'])
  expect(conditions).toContainEqual(
    expect.objectContaining({
      section: 'https',
      type: 'ResolvedRefs',
      status: 'False',
      reason: 'InvalidCertificateRef',
      message:
        'Secret default/long is not used: the certificates of a listener may have 524288 characters together',
    }),
  )
})
