// Reads the certificates of a text in PEM: a bundle of authorities, or the chain of a server.

import { X509Certificate } from 'node:crypto'
import { errorText } from './errors.js'
import { atOnce, mapEach, type Work } from './turns.js'

const BEGIN = '-----BEGIN CERTIFICATE-----'
const END = '-----END CERTIFICATE-----'

/**
 * Returns all certificates of the text.
 * @throws {Error} it has none, or one cannot be parsed: libraries for TLS leave out such a one and what follows it.
 */
export const certificatesIn = (pem: string): readonly X509Certificate[] =>
  atOnce(eachCertificateIn(pem))

/** Like certificatesIn(), one in each step. */
export function* eachCertificateIn(pem: string): Work<readonly X509Certificate[]> {
  const certificates = yield* mapEach(blocksIn(pem).entries(), ([index, block]) => {
    try {
      return new X509Certificate(block)
    } catch (error) {
      throw new Error(`certificate ${index + 1}: ${errorText(error)}`, { cause: error })
    }
  })
  if (certificates.length === 0) throw new Error(`there is no ${BEGIN}`)
  return certificates
}

/**
 * Returns the certificates as they are written; the last one may have no end.
 * Searches in linear time: in a text of many beginnings a regular expression would look for the end from each.
 */
function blocksIn(pem: string): readonly string[] {
  const blocks: string[] = []
  for (let from = pem.indexOf(BEGIN); from !== -1;) {
    const end = pem.indexOf(END, from)
    const to = end === -1 ? pem.length : end + END.length
    blocks.push(pem.slice(from, to))
    from = pem.indexOf(BEGIN, to)
  }
  return blocks
}
