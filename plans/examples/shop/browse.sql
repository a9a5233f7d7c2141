-- A customer looks at the last orders, and at a product that many look at.
\set customer random(1, :customers)
\set product random_zipfian(1, :products, 1.1)
SELECT id, product, quantity FROM orders WHERE customer = :customer ORDER BY placed DESC LIMIT 10;
SELECT name, price, stock FROM products WHERE id = :product;
