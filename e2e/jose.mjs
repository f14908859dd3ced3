// Verifies JSON Web Tokens with jose, which most servers on Node use: node jose.mjs FILE. The file holds a list of
// {"kind": "client"|"proof", "token", "key" (PEM, for a client's), "alg", "audience", "client", "method", "url", "access"}. It
// prints what is wrong, and exits 1 if anything is.
import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';

import {EmbeddedJWK, importSPKI, jwtVerify} from 'jose';

const seen = new Set();
let wrong = 0;
const complain = (one, what) => {
  console.log(`${one.kind} by ${one.alg}: ${what}`);
  wrong++;
};
for (const one of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
  try {
    const key = one.kind === 'proof' ? EmbeddedJWK : await importSPKI(one.key, one.alg);
    const options = one.kind === 'proof'
      ? {typ: 'dpop+jwt', maxTokenAge: '1 minute', requiredClaims: ['jti', 'iat', 'htm', 'htu']}
      : {audience: one.audience, issuer: one.client, subject: one.client, maxTokenAge: '5 minutes', requiredClaims: ['jti', 'iat', 'exp']};
    const {payload, protectedHeader} = await jwtVerify(one.token, key, {...options, algorithms: [one.alg]});
    if (seen.has(payload.jti)) complain(one, 'its jti was there before');
    seen.add(payload.jti);
    if (one.kind === 'client') {
      if (payload.exp - payload.iat > 300) complain(one, 'it is good for too long');
      continue;
    }
    if (protectedHeader.jwk.d !== undefined) complain(one, 'the private key is in it');
    if (payload.htm !== one.method || payload.htu !== one.url) complain(one, `it is for ${payload.htm} ${payload.htu}`);
    const hash = one.access ? createHash('sha256').update(one.access).digest('base64url') : undefined;
    if (payload.ath !== hash) complain(one, `its token is ${payload.ath}`);
  } catch (err) {
    complain(one, err.message);
  }
}
process.exitCode = wrong ? 1 : 0;
