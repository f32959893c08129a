// Chains of certificates of any length, whose verification takes long.

import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

export interface Chain {
  /** PEM of the root, which is not in the chain. */
  readonly root: string
  /** PEM, the server's certificate first. */
  readonly cert: string
  /** PEM. */
  readonly key: string
}

/** name: DNS name of the server's certificate. length: number of authorities between it and the root. */
export function certificateChain(name: string, length: number): Chain {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' })
  const issue = (number: number): string => {
    const extension = number > length ? serverName(name) : AUTHORITY
    return certificate({ number, publicKey, privateKey, extension })
  }
  const [root = '', ...chain] = Array.from({ length: length + 2 }, (_, number) => issue(number))
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  return { root, cert: chain.reverse().join(''), key }
}

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  const size = length < 0x80 ? [length] : long
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const SEQUENCE = 0x30
const text = (tag: number, value: string): Buffer => der(tag, Buffer.from(value))
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const TRUE = der(0x01, Buffer.of(0xff))

/** ecdsa-with-SHA256 (RFC 5758, section 3.2). */
const ALGORITHM = der(SEQUENCE, oid('2a8648ce3d040302'))
const VALIDITY = der(SEQUENCE, text(0x17, '200101000000Z'), text(0x17, '490101000000Z'))

/** basicConstraints of an authority (RFC 5280, section 4.2.1.9). */
const AUTHORITY = der(SEQUENCE, oid('551d13'), TRUE, der(0x04, der(SEQUENCE, TRUE)))

/** subjectAltName (RFC 5280, section 4.2.1.6). */
const serverName = (name: string): Buffer =>
  der(SEQUENCE, oid('551d11'), der(0x04, der(SEQUENCE, text(0x82, name))))

const commonName = (number: number): Buffer =>
  der(SEQUENCE, der(0x31, der(SEQUENCE, oid('550403'), text(0x0c, `c${number}`))))

/** Issued by the certificate with the number before; the first one by itself. */
function certificate(given: {
  readonly number: number
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
  readonly extension: Buffer
}): string {
  const { number, publicKey, privateKey, extension } = given
  const content = der(
    SEQUENCE,
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(number + 1)),
    ALGORITHM,
    commonName(Math.max(0, number - 1)),
    VALIDITY,
    commonName(number),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, extension)),
  )
  const signature = der(0x03, Buffer.of(0), sign('sha256', content, privateKey))
  const body = der(SEQUENCE, content, ALGORITHM, signature).toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${body.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`
}
